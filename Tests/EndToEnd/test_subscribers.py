"""Tests the Node and Go subscribers in ops/examples, if their runtime is installed.

The npm package `redis` 5 is not available to the tests. A substitute implements the few calls that the example makes
and talks to the real Redis. Only the example is tested, because the package has its own tests.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.cluster import Cluster
from harness.process import Process
from harness.waiting import wait_until
from test_examples import EXAMPLES, lines, settle, start

# The part of redis 5's `createClient` that the example uses: connect, subscribe, destroy, and two events.
REDIS_5 = """
import net from "node:net";
import { EventEmitter } from "node:events";

class Client extends EventEmitter {
  constructor(url) { super(); this.url = new URL(url); this.topics = new Map(); }

  connect() {
    return new Promise((done) => {
      let rest = Buffer.alloc(0);
      this.socket = net.connect(Number(this.url.port), this.url.hostname);
      this.socket.on("connect", () => {
        for (const topic of this.topics.keys()) this.send("SUBSCRIBE", topic);
        this.emit("ready");
        done(this);
      });
      this.socket.on("data", (data) => { rest = this.read(Buffer.concat([rest, data])); });
      this.socket.on("error", (error) => this.emit("error", error));
      this.socket.on("close", () => { if (!this.isOver) setTimeout(() => this.connect(), 50); });
    });
  }

  async subscribe(topics, listener) {
    for (const topic of topics) { this.topics.set(topic, listener); this.send("SUBSCRIBE", topic); }
  }

  destroy() { this.isOver = true; this.socket.destroy(); }

  send(...words) {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\\r\\n${word}\\r\\n`);
    this.socket.write(`*${words.length}\\r\\n${parts.join("")}`);
  }

  read(bytes) {
    for (;;) {
      const [value, end] = parse(bytes, 0);
      if (end < 0) return bytes;
      if (value[0] === "message") this.topics.get(value[1])?.(value[2], value[1]);
      bytes = bytes.subarray(end);
    }
  }
}

// RESP2: arrays, bulk strings and integers are all that a subscriber gets.
function parse(bytes, at) {
  const line = bytes.indexOf("\\r\\n", at);
  if (line < 0) return [null, -1];
  const [kind, count] = [bytes.toString("latin1", at, at + 1), Number(bytes.toString("latin1", at + 1, line))];
  if (kind === ":") return [count, line + 2];
  if (kind === "$") {
    const end = line + 2 + count;
    return bytes.length < end + 2 ? [null, -1] : [bytes.toString("utf8", line + 2, end), end + 2];
  }
  const elements = [];
  let next = line + 2;
  for (let number = 0; number < count; number++) {
    const [value, end] = parse(bytes, next);
    if (end < 0) return [null, -1];
    elements.push(value);
    next = end;
  }
  return [elements, next];
}

export const createClient = ({ url } = {}) => new Client(url ?? "redis://127.0.0.1:6379");
"""


def node() -> str:
    found = shutil.which("node")
    if not found:
        pytest.skip("THE NODE SUBSCRIBER WAS NOT TRIED: no node on this machine")
    return found


def with_package(folder: Path, source: str | None) -> Path:
    """Copies the example into a separate folder with a package `redis`."""
    script = folder / "subscribe.mjs"
    shutil.copy(EXAMPLES / "subscribe.mjs", script)
    if source is not None:
        package = folder / "node_modules/redis"
        package.mkdir(parents=True)
        (package / "package.json").write_text('{"name": "redis", "type": "module", "main": "index.js"}')
        (package / "index.js").write_text(source)
    return script


def test_the_node_subscriber_prints_each_event_once_and_fills_gaps(calm: Cluster, request, tmp_path: Path):
    script = with_package(tmp_path, REDIS_5)
    source, other = calm.sandbox.create_sources(2)
    env = {"REDIS_URL": calm.redis.url, "POLLER_URL": calm.api.url}
    example = start(calm, request, [node(), str(script), source, other], env)
    with calm.redis.client() as redis:
        channel = f"poller:events:{other}"
        wait_until(lambda: redis.pubsub_numsub(channel)[0][1] == 1, 60, "it listens")
        for name in (source, other):
            calm.follow(name, notify=[])
        wait_until(lambda: len(lines(example)) == 2, 60, "the first event of each")
        # Events recorded during the disconnect come from the history.
        redis.client_kill_filter(_type="pubsub", skipme=True)
        settle(calm, source, "chargeable", "consumed")
        settle(calm, other, "failed")
    wait_until(lambda: not example.running, 60, "it ends with the last event")
    assert example.exit_status == 0, example.tail()
    told = [json.loads(line) for line in lines(example)]
    for name in (source, other):
        assert [event for event in told if event["source"] == name] == calm.api.events(name)


@pytest.mark.parametrize(
    "package", [None, "export const createClient = () => ({ disconnect() {}, on() {} });"],
    ids=["without the package", "with redis 4"],
)
def test_the_node_subscriber_reports_missing_requirements_first(package: str | None, tmp_path: Path):
    script = with_package(tmp_path, package)
    # A port without a listener: the example must not connect to it.
    done = subprocess.run(
        [node(), script, "src_1"], env={"REDIS_URL": "redis://127.0.0.1:1"}, capture_output=True, text=True,
        timeout=120,
    )
    assert done.returncode == 69 and done.stdout == ""
    assert "needs the package redis 5: npm install redis@5" in done.stderr


def test_the_go_subscriber_reads_a_stream_and_resumes_at_its_position(calm: Cluster, request, tmp_path: Path):
    if not shutil.which("go"):
        pytest.skip("THE GO SUBSCRIBER WAS NOT TRIED: no go on this machine")
    shutil.copy(EXAMPLES / "subscribe.go", tmp_path)
    for command in (["mod", "init", "example"], ["mod", "tidy"], ["build", "-o", "subscribe", "subscribe.go"]):
        made = subprocess.run(["go", *command], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        if made.returncode:
            pytest.skip(f"THE GO SUBSCRIBER WAS NOT TRIED: go {command[0]} failed: {made.stderr[-300:]}")
    source = calm.sandbox.create_source()
    name = f"go-{source[-6:]}"
    calm.enqueue(source, notify=[f"redis+stream:{name}"])
    env = {"REDIS_URL": calm.redis.url}
    first = start(calm, request, [str(tmp_path / "subscribe"), name], env)
    wait_until(lambda: len(lines(first)) == 1, 60, "the first event")
    place, _, _ = lines(first)[0].partition(" ")
    first.end()
    settle(calm, source, "chargeable", "consumed")
    second = Process("example-go-again", [str(tmp_path / "subscribe"), name, place], calm.logs, env).start()
    request.addfinalizer(second.end)
    wait_until(lambda: len(lines(second)) == 4, 60, "the missed events")
    told = [json.loads(line.partition(" ")[2]) for line in [*lines(first), *lines(second)]]
    assert told == calm.api.events(source)
