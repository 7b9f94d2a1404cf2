"""What an operator's probes and dashboards see."""

import re

from harness.cluster import Cluster
from harness.waiting import wait_until


def roles(cluster: Cluster):
    return [cluster.api_process, *cluster.workers, *cluster.notifiers]


def test_every_role_is_alive_and_ready(calm: Cluster):
    for role in roles(calm):
        for path in ("/livez", "/readyz"):
            answer = role.admin(path)
            assert answer.status_code == 200, f"{role.name}{path}: {answer.text}"


def test_metrics_are_prometheus_text(calm: Cluster):
    source = calm.sandbox.create_source()
    calm.enqueue(source)
    calm.wait_status(source, "pending")
    sample = re.compile(
        r"""^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([^"}]|"[^"]*")*\})? (NaN|[+-]?Inf|[-+0-9.eE]+)$"""
    )
    for role in roles(calm):
        answer = role.admin("/metrics")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain")
        lines = [line for line in answer.text.splitlines() if line and not line.startswith("#")]
        assert lines, f"{role.name} has no metrics"
        wrong = [line for line in lines if not sample.match(line)]
        assert not wrong, f"{role.name}: {wrong[:3]}"
        assert any(line.startswith("poller_") for line in lines)


def test_not_ready_without_redis_but_alive_and_ready_again_with_it(chaos):
    cluster = chaos(listen=False)
    cluster.redis.kill9()
    for role in roles(cluster):
        wait_until(lambda: role.admin("/readyz").status_code == 503, 10, f"{role.name} not ready")
        assert role.admin("/livez").status_code == 200, "a restart would not bring Redis back"
    answer = cluster.api.enqueue("src_without_redis")
    assert answer.status_code == 503
    assert answer.json()["code"] == "store_unavailable"

    cluster.redis.start()
    for role in roles(cluster):
        wait_until(lambda: role.admin("/readyz").status_code == 200, 15, f"{role.name} ready")
    source = cluster.sandbox.create_source()
    cluster.enqueue(source)
    cluster.wait_status(source, "pending")
