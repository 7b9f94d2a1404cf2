"""Tests listeners with TLS: certificates renewed at runtime, and client certificates for the admin listener."""

import os
import re
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest
from harness.cluster import Cluster
from harness.commands import run
from harness.waiting import wait_until


def openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


def authority(folder: Path, name: str) -> Path:
    """Creates a root authority and returns its certificate, which is next to its key."""
    path = folder / f"{name}.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2,
            "-subj", f"/CN={name}", "-keyout", path.with_suffix(".key"), "-out", path)
    return path


def signed(root: Path, name: str) -> tuple[Path, Path]:
    """Returns a certificate for this machine signed by a root, and its key."""
    certificate, key = root.parent / f"{name}.pem", root.parent / f"{name}.key"
    request, more = root.parent / f"{name}.csr", root.parent / f"{name}.ext"
    more.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", f"/CN={name}", "-keyout", key, "-out", request)
    openssl("x509", "-req", "-in", request, "-CA", root, "-CAkey", root.with_suffix(".key"),
            "-CAcreateserial", "-days", 2, "-extfile", more, "-out", certificate)
    return certificate, key


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Starts a cluster whose listeners have certificates, with their roots and files."""
    folder: Path = tmp_path_factory.mktemp("tls")
    root, clients = authority(folder, "root"), authority(folder, "clients")
    first = signed(root, "first")
    shown = (folder / "shown.pem", folder / "shown.key")
    for source, target in zip(first, shown):
        target.write_bytes(source.read_bytes())
    env = {"POLLER_ADMIN_CLIENT_CA": str(clients)}
    for name in ("API", "GATEWAY", "ADMIN"):
        env |= {f"POLLER_{name}_TLS_CERTIFICATE": str(shown[0]), f"POLLER_{name}_TLS_KEY": str(shown[1])}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        cluster.root, cluster.clients, cluster.shown = root, clients, shown
        yield cluster


def trusting(root: Path, own: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(root))
    if own:
        context.load_cert_chain(*map(str, own))
    return context


def connect(address: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    host, port = address.removeprefix("https://").rsplit(":", 1)
    plain = socket.create_connection((host, int(port)), timeout=30)
    return context.wrap_socket(plain, server_hostname=host)


def ask(connection: ssl.SSLSocket, path: str) -> bytes:
    """Returns the response. For a stream, returns the data that arrived with its head."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    answer = b""
    while part := connection.recv(65_536):
        answer += part
        head, end, body = answer.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if end and len(body) >= (int(length.group(1)) if length else 0):
            break
    return answer


def name_of(address: str, root: Path, own: tuple[Path, Path] | None = None) -> str:
    with connect(address, trusting(root, own)) as connection:
        subject = dict(pair[0] for pair in connection.getpeercert()["subject"])
        return subject["commonName"]


def replace(cluster: Cluster, certificate: Path, key: Path) -> None:
    """Replaces the files as renewal tools do: each atomically, one after the other."""
    for source, target in zip((certificate, key), cluster.shown):
        fresh = target.with_suffix(".new")
        fresh.write_bytes(source.read_bytes())
        os.replace(fresh, target)


def test_api_and_gateway_serve_tls_and_a_renewed_certificate_closes_no_connection(house: Cluster):
    api, gateway = house.api_process.address("api"), house.notifiers[0].address("gateway")
    assert api.startswith("https://") and gateway.startswith("https://")
    assert name_of(api, house.root) == name_of(gateway, house.root) == "first"
    with pytest.raises(ssl.SSLCertVerificationError):
        name_of(api, house.clients)
    assert b"HTTP" not in plainly(api)
    with connect(api, trusting(house.root)) as kept, connect(gateway, trusting(house.root)) as stream:
        assert b"200 OK" in ask(kept, "/v1/watches")
        assert b"200 OK" in ask(stream, "/v1/events/stream")
        replace(house, *signed(house.root, "second"))
        # The files are read every five seconds.
        wait_until(lambda: name_of(api, house.root) == "second", 60, "the API shows the new one")
        wait_until(lambda: name_of(gateway, house.root) == "second", 60, "so does the gateway")
        # Open connections are still served under the old certificate.
        assert b"200 OK" in ask(kept, "/v1/watches")
        stream.settimeout(60)
        assert stream.recv(4096), "the stream continues"


def plainly(address: str) -> bytes:
    """Returns the answer to a client that does not use TLS."""
    host, port = address.removeprefix("https://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"GET /v1/watches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        try:
            return connection.recv(4096)
        except OSError:
            return b""


def test_an_unusable_certificate_is_reported_once_and_the_old_one_kept(house: Cluster):
    api = house.api_process.address("api")
    before = name_of(api, house.root)
    other = signed(house.root, "third")

    def complaints() -> list[str]:
        text = house.api_process.stderr()
        return [line for line in text.splitlines() if "certificate reload failed" in line and '"api"' in line]

    # An earlier renewal may have been read between its two writes.
    earlier = len(complaints())
    # The key belongs to another certificate, as between the two writes of a renewal.
    replace(house, house.shown[0], other[1])
    wait_until(lambda: len(complaints()) > earlier, 60, "the error is logged")
    time.sleep(6)
    assert len(complaints()) == earlier + 1 and "PRIVATE" not in house.api_process.stderr()
    assert name_of(api, house.root) == before
    replace(house, *other)
    wait_until(lambda: name_of(api, house.root) == "third", 60, "the other half has come")


def test_the_admin_listener_requires_a_client_certificate(house: Cluster):
    admin = house.api_process.address("admin")
    own = signed(house.clients, "monitoring")
    with connect(admin, trusting(house.root, own)) as connection:
        assert b"200 OK" in ask(connection, "/livez")
    for stranger in (None, signed(house.root, "not-a-client")):
        # In TLS 1.3 the client sees the rejection only after its own handshake has finished.
        with pytest.raises((ssl.SSLError, ConnectionError)):
            with connect(admin, trusting(house.root, stranger)) as connection:
                if not ask(connection, "/livez"):
                    raise ConnectionError("closed without a word")


def test_the_command_line_trusts_a_configured_authority(house: Cluster, tmp_path: Path):
    env = {"POLLER_URL": house.api_process.address("api")}
    distrusted = run("pollerctl", "stats", env=env)
    assert distrusted.returncode != 0
    assert "certificate" in distrusted.stderr and "--ca-file" in distrusted.stderr, distrusted.stderr
    assert run("pollerctl", "stats", "--ca-file", str(house.root), env=env).returncode == 0
    assert run("pollerctl", "stats", env=env | {"POLLER_CA_FILE": str(house.root)}).returncode == 0
    assert run("pollerctl", "stats", "--ca-file", str(house.clients), env=env).returncode != 0
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("no certificate\n")
    for path in (nothing, tmp_path / "absent.pem"):
        refused = run("pollerctl", "stats", "--ca-file", str(path), env=env)
        assert refused.returncode == 64 and "must be a PEM file" in refused.stderr, refused.stderr
