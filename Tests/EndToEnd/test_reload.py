"""Tests configuration reloads: on SIGHUP and on file changes, all or nothing, with a preview by `pollerd diff`."""

import os
import re
import signal
from pathlib import Path

import pytest
import requests
from harness.cluster import Cluster
from harness.commands import run
from harness.poller_api import PollerAPI
from harness.sandbox import Sandbox
from harness.waiting import wait_until
from test_configured import Bank
from test_tls import authority, connect, signed, trusting

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HOOK = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


class House:
    """A cluster configured by one file and by a folder of secrets like a Kubernetes mount."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.file = folder / "poller.yaml"
        self.mount = folder / "secrets"
        self.mount.mkdir()
        self.versions = 0
        self.secrets = {}
        self.bank, self.branch = Bank(), Bank()
        self.root = authority(folder, "root")
        self.shown = (folder / "shown.pem", folder / "shown.key")
        self.show("first")

    def show(self, name: str) -> None:
        for source, target in zip(signed(self.root, name), self.shown):
            target.write_bytes(source.read_bytes())

    def keep(self, **secrets: str) -> None:
        """Writes secrets as the kubelet does: into a new folder to which a link is switched atomically."""
        self.secrets |= secrets
        self.versions += 1
        data = self.mount / f"..{self.versions}"
        data.mkdir()
        for name, text in self.secrets.items():
            (data / name).write_text(text + "\n")
            (data / name).chmod(0o600)
            if not (self.mount / name).is_symlink():
                (self.mount / name).symlink_to(f"..data/{name}")
        (self.mount / "..new").symlink_to(data.name)
        os.replace(self.mount / "..new", self.mount / "..data")

    def hook(self, name: str) -> str:
        return f"url: 'https://{name}.example.com/hook', secret: {{file: {self.mount}/hook}}"

    def text(self, bank: Bank, endpoints: str = "", more: str = "", header: str = "bank") -> str:
        return (
            f"{more}"
            "accounts:\n"
            "  acme:\n"
            f"    stripe_api_key: {{file: {self.mount}/acme}}\n"
            "upstreams:\n"
            "  bank:\n"
            f"    url: {bank.url}/payments/{{id}}\n"
            "    status: /payment/state\n"
            "    final: [settled, rejected]\n"
            f"    headers: {{Authorization: {{file: {self.mount}/{header}, prefix: 'Bearer '}}}}\n"
            "    rate: 50\n"
            "endpoints:\n"
            f"  shop: {{{self.hook('shop')}, types: [source.*]}}\n"
            f"{endpoints}"
        )

    def write(self, **change) -> None:
        self.replace(self.text(**change))

    def replace(self, text: str) -> None:
        """Replaces the file atomically, as an editor or a ConfigMap does.

        A file that stays empty for two checks would be a valid configuration without accounts.
        """
        new = self.folder / "new.yaml"
        new.write_text(text)
        os.replace(new, self.file)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("reload"))
    house.keep(acme="sk_test_before", bank="first-token", hook=HOOK)
    house.write(bank=house.bank)
    env = {
        "POLLER_CONFIG_FILE": str(house.file), "STRIPE_API_KEY_FILE": str(house.mount / "default"),
        "STRIPE_API_KEY": "", "POLLER_WEBHOOK_SECRET": "", "POLLER_WEBHOOK_SECRET_FILE": str(house.mount / "inline"),
        "POLLER_LANE_RATE": "", "POLLER_LANE_BURST": "", "POLLER_LANE_CONCURRENCY": "",
        "POLLER_API_TLS_CERTIFICATE": "", "POLLER_API_KEYS_FILE": "", "POLLER_STRIPE_SWEEP": "off",
        "POLLER_GATEWAY_TLS_CERTIFICATE": str(house.shown[0]), "POLLER_GATEWAY_TLS_KEY": str(house.shown[1]),
    }
    house.keep(default=Sandbox.KEY, inline=SECRET)
    with Cluster(workers=1, listen=False, env=env) as cluster:
        house.cluster = cluster
        house.roles = [*cluster.apis, *cluster.workers, *cluster.notifiers]
        yield house
        for process in cluster.processes:
            told = process.stdout() + process.stderr()
            for secret in ("first-token", "second-token", "third-token", "sk_test_after"):
                assert secret not in told, f"{process.name} printed {secret}"
    house.bank.close()
    house.branch.close()


def reloads(role, result: str) -> float:
    for line in role.admin("/metrics").text.splitlines():
        if line.startswith(f'poller_config_reloads_total{{result="{result}"}} '):
            return float(line.split()[1])
    return 0.0


class Following:
    """Waits until every process has reloaded the change made in the block."""

    def __init__(self, house: House | None, result: str = "changed", roles=None):
        self.roles, self.result = roles or house.roles, result

    def __enter__(self):
        self.before = [reloads(role, self.result) for role in self.roles]

    def __exit__(self, kind, *_):
        if kind is None:
            wait_until(
                lambda: all(reloads(r, self.result) > b for r, b in zip(self.roles, self.before)), 60, self.result
            )


def logged(role, *words: str) -> str:
    """Waits until the log has a line with all of these words, and returns the newest one.

    A thread of the process writes its lines, so an effect may be visible before its line.
    """
    def look() -> str | None:
        return next((line for line in role.stderr().splitlines()[::-1] if all(word in line for word in words)), None)

    return wait_until(look, 60, f"{role.name} logs {words}")


def payment(house: House, bank: Bank, name: str, state: str = "open") -> None:
    bank.states[name] = state
    house.cluster.api.enqueue(name, account="bank", kind="http", policy="interactive").raise_for_status()


def seen(bank: Bank, name: str) -> list:
    return [token for path, token in bank.seen if path.split("?")[0].endswith(f"/{name}")]


def endpoints(house: House) -> dict[str, str]:
    items = house.cluster.api.get("/v1/endpoints")["data"]
    return {item["name"]: item["state"] for item in items if item.get("name")}


def test_an_upstream_url_changes_while_it_is_polled(house: House):
    payment(house, house.bank, "moving")
    wait_until(lambda: seen(house.bank, "moving"), 60, "polled at the old place")
    house.branch.states["moving"] = "settled"
    with Following(house):
        house.write(bank=house.branch)
    status = wait_until(
        lambda: house.cluster.api.get("/v1/watches/moving?account=bank&kind=http")["status"] == "settled", 60, "moved"
    )
    assert status and seen(house.branch, "moving")
    # The API uses the new address too: it accepts a URL at the new address and rejects one at the old.
    for bank, code in ((house.branch, 201), (house.bank, 422)):
        answer = house.cluster.api.request("POST", "/v1/watches", json={"url": f"{bank.url}/payments/by-url"})
        assert answer.status_code == code, answer.text


def test_a_secret_is_replaced_by_a_link_as_in_kubernetes(house: House):
    payment(house, house.branch, "rolled")
    wait_until(lambda: seen(house.branch, "rolled"), 60, "polled")
    assert set(seen(house.branch, "rolled")) == {"Bearer first-token"}
    with Following(house):
        house.keep(bank="second-token")
    wait_until(lambda: seen(house.branch, "rolled")[-1] == "Bearer second-token", 60, "the new token")


def test_a_stripe_key_is_rolled(house: House):
    """The sandbox refuses one key and accepts the next, and the payment continues automatically."""
    def polls(result: str) -> float:
        text = house.cluster.workers[0].admin("/metrics").text
        found = re.search(rf'^poller_polls_total{{result="{result}"}} (\S+)$', text, re.MULTILINE)
        return float(found.group(1)) if found else 0.0

    before = polls("observed")
    source = house.cluster.sandbox.create_source()
    with Following(house, "refused"):
        house.keep(acme="rk_live_refused")
        house.cluster.api.enqueue(source, account="acme", policy="interactive").raise_for_status()
    # A live key would be sent without TLS. The reload is refused, as a start would be, and the old key stays in use.
    for role in house.roles:
        logged(role, "the live key of account acme would go to")
    with Following(house):
        house.keep(acme=Sandbox.KEY)
    house.cluster.api.request("POST", f"/v1/watches/{source}/poll?account=acme")
    wait_until(lambda: polls("observed") > before, 60, "polled with the new key")
    # The worker polls other sources too.
    wait_until(
        lambda: house.cluster.api.get(f"/v1/watches/{source}?account=acme")["status"] == "pending", 60, "its status is known"
    )


def test_an_endpoint_is_added_and_removed(house: House):
    wait_until(lambda: endpoints(house) == {"shop": "enabled"}, 60, "registered at the start")
    with Following(house):
        house.write(bank=house.branch, endpoints=f"  audit: {{{house.hook('audit')}}}\n")
    wait_until(lambda: endpoints(house) == {"shop": "enabled", "audit": "enabled"}, 60, "registered")
    with Following(house):
        house.write(bank=house.branch)
    wait_until(lambda: endpoints(house)["audit"] == "disabled", 60, "disabled")


def test_an_endpoint_refused_by_a_full_store_is_registered_when_there_is_room(house: House):
    notifier = house.cluster.notifiers[0]
    with house.cluster.redis.client() as client:
        client.config_set("maxmemory", 1)
        try:
            with Following(house):
                house.write(bank=house.branch, endpoints=f"  late: {{{house.hook('late')}}}\n")
            wait_until(lambda: notifier.metric("poller_config_mistakes") == 1, 60, "the refusal is reported")
            logged(notifier, "not yet applied to the store")
            logged(notifier, "maxmemory")
            assert "late" not in endpoints(house)
        finally:
            client.config_set("maxmemory", 0)
    wait_until(lambda: endpoints(house).get("late") == "enabled", 60, "registered")
    wait_until(lambda: notifier.metric("poller_config_mistakes") == 0, 60, "no longer refused")
    with Following(house):
        house.write(bank=house.branch)
    wait_until(lambda: endpoints(house)["late"] == "disabled", 60, "disabled")


def test_limits_of_upstreams_are_applied_although_an_endpoint_is_refused(chaos, tmp_path: Path):
    """A limit is changed and changed back, so that it differs only from the limit of the last configuration."""
    file, hook = tmp_path / "poller.yaml", tmp_path / "hook"
    hook.write_text(HOOK + "\n")
    hook.chmod(0o600)
    refused = f"endpoints:\n  late: {{url: 'https://late.example.com/hook', secret: {{file: {hook}}}}}\n"

    def write(rate: int, endpoints: str = "") -> None:
        new = tmp_path / "new.yaml"
        bank = f"{{url: 'http://127.0.0.1:1/{{id}}', status: /state, final: [settled], rate: {rate}}}"
        new.write_text(f"upstreams:\n  bank: {bank}\n{endpoints}")
        os.replace(new, file)

    write(50)
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    # It polls and registers endpoints.
    process = cluster.role("all", "all", {"POLLER_CONFIG_FILE": str(file)}).start().wait_ready()
    api = PollerAPI(process.address("api"))
    api.enqueue("pay-1", account="bank", kind="http").raise_for_status()

    def rate() -> float:
        [lane] = [lane for lane in api.get("/v1/lanes?limit=500")["data"] if lane["id"].startswith("bank/")]
        return lane["limit"]["rate"]

    with cluster.redis.client() as client:
        client.config_set("maxmemory", 1)
    for wanted in (50, 7, 50):
        with Following(None, roles=[process]):
            write(wanted, refused)
        wait_until(lambda: rate() == wanted, 60, f"the limit is {wanted}")
        wait_until(lambda: process.metric("poller_config_mistakes") == 1, 60, "the refusal is reported")


def test_an_invalid_file_changes_nothing(house: House):
    payment(house, house.branch, "steady")
    wait_until(lambda: seen(house.branch, "steady"), 60, "polled")
    wrong = f"  audit: {{{house.hook('audit')}, retyr: none}}\n"
    with Following(house, "refused"):
        house.write(bank=house.bank, endpoints=wrong)
    for role in house.roles:
        line = logged(role, "keeping the previous one", "retyr")
        assert str(house.file) in line, line
        number = int(re.search(r'"?line"?[=:]\s*"?(\d+)', line).group(1))
        assert "retyr" in house.file.read_text().splitlines()[number - 1]
    count, strayed = len(seen(house.branch, "steady")), len(seen(house.bank, "steady"))
    wait_until(lambda: len(seen(house.branch, "steady")) > count, 60, "polled where it was")
    assert len(seen(house.bank, "steady")) == strayed and endpoints(house)["audit"] == "disabled"
    assert [reloads(role, "refused") for role in house.roles].count(0) == 0
    # A file that is invalid YAML or missing is refused too.
    with Following(house, "refused"):
        house.replace("accounts: {acme: [\n")
    with Following(house, "refused"):
        house.file.unlink()
    assert all(role.running for role in house.roles)
    with Following(house, "same"):
        house.write(bank=house.branch)


def test_sighup_reloads_at_once_and_names_options_that_need_a_restart(house: House):
    with Following(house, "same"):
        # No file has changed, so only the signal can have caused the reload.
        for role in house.roles:
            role.signal(signal.SIGHUP)
    with Following(house):
        house.write(bank=house.branch, more="lane_rate: 77\nworker_concurrency: 9\n")

    def rates() -> set[float]:
        lanes = house.cluster.api.get("/v1/lanes?limit=500")["data"]
        return {lane["limit"]["rate"] for lane in lanes if lane["id"].startswith("acme/")}

    # The limits are stored after the reload is counted.
    wait_until(lambda: rates() == {77}, 60, "the new limit applies")
    worker = house.cluster.workers[0]
    logged(worker, "an option needs a restart", "worker_concurrency")
    assert worker.metric("poller_config_restart_options") == 1
    assert worker.metric("poller_config_read_timestamp_seconds") > 1_700_000_000
    with Following(house):
        house.write(bank=house.branch)
    assert worker.metric("poller_config_restart_options") == 0


def test_a_certificate_is_reloaded_with_the_configuration(house: House):
    notifier = house.cluster.notifiers[0]
    address = notifier.address("gateway")
    context = trusting(house.root)
    with connect(address, context) as before:
        old = before.getpeercert()["serialNumber"]
    house.show("second")
    with Following(house, "same", [notifier]):
        notifier.signal(signal.SIGHUP)
    with connect(address, context) as now:
        second = now.getpeercert()["serialNumber"]
    assert second != old
    # An unusable certificate also rejects every other change of the same reload.
    house.shown[1].write_text("no key\n")
    with Following(house, "refused", [notifier]):
        house.write(bank=house.bank)
    logged(notifier, "gateway_tls_key contains no private key")
    with connect(address, context) as still:
        assert still.getpeercert()["serialNumber"] == second
    with Following(house, "same", [notifier]):
        house.write(bank=house.branch)
        house.show("third")


def test_keys_of_a_file_are_reloaded(house: House, tmp_path: Path):
    keys = tmp_path / "keys"
    keys.write_text("first-key-0123456789abcdef name=first\n")
    api = house.cluster.role("keyed", "api", {"POLLER_API_KEYS_FILE": str(keys)}).start().wait_ready()

    def let_in(key: str) -> bool:
        answer = requests.get(f"{api.address('api')}/v1/caller", headers={"Authorization": f"Bearer {key}"}, timeout=30)
        return answer.status_code == 200

    try:
        assert let_in("first-key-0123456789abcdef") and not let_in("second-key-0123456789abcdef")
        with Following(house, "same", [api]):
            keys.write_text("second-key-0123456789abcdef name=second\n")
        assert let_in("second-key-0123456789abcdef") and not let_in("first-key-0123456789abcdef")
        # An empty key file would open the API to every caller, so it is refused and the old keys stay.
        with Following(house, "refused", [api]):
            keys.write_text("# none\n")
        assert let_in("second-key-0123456789abcdef") and not let_in("first-key-0123456789abcdef")
    finally:
        api.end()


def test_diff_shows_the_changes_of_a_file(house: House, tmp_path: Path):
    house.write(bank=house.branch)
    house.keep(other="third-token")
    new = tmp_path / "new.yaml"
    env = house.cluster.env

    def diff() -> tuple[int, list[str], str]:
        done = run("pollerd", "diff", str(new), env=env)
        assert not re.search("second-token|third-token|sk_test", done.stdout + done.stderr)
        return done.returncode, done.stdout.splitlines(), done.stderr

    # Written differently with the same meaning: an explicit default and a secret from another file.
    new.write_text(house.text(bank=house.branch, more="lane_rate: 20\n"))
    assert diff()[:2] == (0, [])
    new.write_text(
        house.text(
            bank=house.bank, header="other", more="lane_rate: 30\nlease: 20s\n",
            endpoints=f"  audit: {{{house.hook('audit')}}}\n",
        ).replace("rate: 50", "concurrency: 3").replace("  shop:", "  store:")
    )
    status, lines, _ = diff()
    assert status == 1
    assert lines == [
        "~ lane_rate: 20 is 30",
        "+ endpoints.audit",
        "- endpoints.shop",
        "+ endpoints.store",
        "+ upstreams.bank.concurrency: 3",
        "~ upstreams.bank.headers.Authorization: changed",
        "- upstreams.bank.rate",
        f"~ upstreams.bank.url: {house.branch.url}/payments/{{id}} is {house.bank.url}/payments/{{id}}",
    ], "and the lease is the variable's, which the file cannot change"
    # The output hides the query of an upstream's URL, and shows only the host of a receiver's.
    old = tmp_path / "old.yaml"
    for path, letter, name in ((old, "a", "example"), (new, "b", "test")):
        hook = re.sub(r"url: [^,]+", f"url: https://hooks.{name}/canary-{letter}", house.hook("audit"))
        text = house.text(bank=house.branch, endpoints=f"  audit: {{{hook}}}\n")
        path.write_text(text.replace("/payments/{id}", f"/payments/{{id}}?key=canary-{letter}"))
    lines = run("pollerd", "diff", str(new), "--config", str(old), env=env).stdout.splitlines()
    assert lines == [
        "~ endpoints.audit.url: https://hooks.example/… is https://hooks.test/…",
        "~ upstreams.bank.url: changed",
    ], lines

    del env["POLLER_LEASE"]
    new.write_text(house.text(bank=house.branch, more="lease: 20s\n"))
    assert diff()[:2] == (1, ["~ lease: 12s is 20s, needs a restart"])
    new.write_text(house.text(bank=house.branch, endpoints="  audit: {retyr: none}\n"))
    status, lines, told = diff()
    assert (status, lines) == (2, []) and re.search(r"line \d+: .*retyr", told), told
    assert run("pollerd", "diff", str(tmp_path / "absent.yaml"), env=env).returncode == 2
