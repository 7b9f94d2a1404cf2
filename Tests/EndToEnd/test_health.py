"""Tests the probes and metrics of an operator."""

from harness.cluster import Cluster
from harness.prometheus import check_metrics
from harness.waiting import wait_until


def roles(cluster: Cluster):
    return [cluster.api_process, *cluster.workers, *cluster.notifiers]


def test_every_role_is_alive_and_ready(calm: Cluster):
    for role in roles(calm):
        for path in ("/livez", "/readyz"):
            answer = role.admin(path)
            assert answer.status_code == 200, f"{role.name}{path}: {answer.text}"


def test_metrics_are_valid_for_prometheus(calm: Cluster):
    """Parses the metrics with Prometheus' own library, and with `promtool` if it is available."""
    source = calm.follow_new()
    for role in roles(calm):
        families = check_metrics(role)
        (build,) = families["poller_build_info"].samples
        assert "," not in build.labels["roles"] or role.name.startswith("notifier")


def test_cluster_metrics_are_absent_while_they_are_unknown(chaos):
    cluster = chaos(listen=False, fsync="always")
    cluster.enqueue(cluster.sandbox.create_source())

    def told() -> set[str]:
        lines = cluster.api_process.admin("/metrics").text.splitlines()
        return {line.split("{")[0].split(" ")[0] for line in lines if not line.startswith("#")}

    def of_cluster() -> set[str]:
        return told() & {"poller_members", "poller_watches_pending", "poller_lanes"}

    wait_until(lambda: len(of_cluster()) == 3, 60, "the cluster's figures are there")
    cluster.redis.kill9()
    wait_until(lambda: not of_cluster(), 60, "unknown metrics are absent")
    assert cluster.api_process.metric("poller_store_up") == 0
    cluster.redis.start()
    wait_until(lambda: len(of_cluster()) == 3, 60, "the metrics are present again")
    assert cluster.api_process.metric("poller_store_up") == 1


def test_without_redis_a_process_is_alive_but_not_ready(chaos):
    cluster = chaos(listen=False, fsync="always")
    cluster.redis.kill9()
    for role in roles(cluster):
        wait_until(lambda: role.admin("/readyz").status_code == 503, 60, f"{role.name} not ready")
        assert role.admin("/livez").status_code == 200, "a restart would not bring Redis back"
    answer = cluster.api.enqueue("src_without_redis")
    assert answer.status_code == 503
    assert answer.json()["code"] == "store_unavailable"

    cluster.redis.start()
    for role in roles(cluster):
        wait_until(lambda: role.admin("/readyz").status_code == 200, 60, f"{role.name} ready")
    source = cluster.follow_new()
