"""Saves a program's Lua scripts as a fixture, as the program loads them into Redis.

    python -m harness.released_scripts 1.0.0 [FOLDER]

writes FOLDER/scripts-1.0.0.txt. Its first line has the release and the format number of the store. The function
library without comments follows. The conformance suite runs it together with the current scripts.
"""

import re
import sys
import tempfile
from pathlib import Path

from .cluster import Role, program
from .process import Process
from .redis_server import RedisServer
from .waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "Tests/PollerRedisTests/Fixtures"


def library() -> tuple[str, str]:
    """Returns the library that `pollerd` loads into an empty Redis, and the format number of its store.

    The program is that of POLLER_BIN_DIR.
    """
    with tempfile.TemporaryDirectory(prefix="poller-scripts-") as folder:
        root = Path(folder)
        server = RedisServer(root, root / "redis")
        environment = {
            "POLLER_REDIS_URL": server.url,
            "POLLER_ADMIN_BIND": "127.0.0.1:0",
            "POLLER_STRIPE_API_BASE": "http://127.0.0.1:1",
            "STRIPE_API_KEY": "sk_test_nobody",
        }
        worker = Role("worker", [program("pollerd"), "worker"], root, environment)
        started: list[Process] = [server, worker]
        try:
            server.start()
            worker.start().wait_ready(60)
            with server.client() as client:
                command = ("FUNCTION", "LIST", "LIBRARYNAME", "poller_*", "WITHCODE")
                found = wait_until(lambda: client.execute_command(*command), 60, "a library of functions")
                [fields] = found
                form = client.hget("poller:layout", "format")
                return fields["library_code"], form
        finally:
            for process in reversed(started):
                process.end()


def fixture(release: str, code: str, form: str) -> str:
    """Returns the fixture's text without comments, which are a third of the library and do not run."""
    # `RedisLibrary` writes the first two lines, which contain the digest of the rest.
    body = code.split("\n", 2)[2]
    kept = [line for line in body.split("\n") if line.strip() and not re.match(r"\s*--", line)]
    return f"-- release {release}, form {form}\n" + "\n".join(kept) + "\n"


def main() -> None:
    release = sys.argv[1]
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else FIXTURES
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"scripts-{release}.txt"
    path.write_text(fixture(release, *library()))
    print(path)


if __name__ == "__main__":
    main()
