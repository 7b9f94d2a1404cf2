"""The start of a process: how much it does before it is ready, and what it says of itself."""

from pathlib import Path

from harness.cluster import Cluster, program
from harness.process import Process


def test_a_start_at_debug_says_no_more_than_a_person_reads(calm: Cluster, tmp_path: Path):
    """Services are named, not printed: what is in them are tables, keys and secrets of the cluster."""
    env = {
        "POLLER_REDIS_URL": calm.redis.url,
        "POLLER_NAMESPACE": "start",
        "POLLER_LOG_LEVEL": "debug",
        "POLLER_API_BIND": "127.0.0.1:0",
        "POLLER_GATEWAY_BIND": "127.0.0.1:0",
        "POLLER_ADMIN_BIND": "127.0.0.1:0",
        "STRIPE_API_KEY": "sk_test_start",
    }
    node = Process("node", [program("pollerd"), "all"], tmp_path, env).start()
    try:
        node.line("pollerd ready")
        maps = Path(f"/proc/{node.pid}/maps")
        assert not maps.exists() or "libcurl" not in maps.read_text(), "nobody here sends mail"
        assert node.terminate() == 0, node.tail()
        assert len(node.stderr()) < 100_000 and '"AdminServer"' in node.stderr(), node.tail()
    finally:
        node.end()
