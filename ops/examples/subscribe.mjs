// Follows sources over Redis from Node: immediately by pub/sub, completely by the history.
//
//     npm install redis@5
//     node ops/examples/subscribe.mjs src_123 …
//
// It needs Node 18 and the package redis 5, and checks the package first.
//
// Pub/sub is fast but loses events that are published while no subscriber is connected. Every event has a `seq`,
// which counts 1, 2, 3 … for each source, so a gap is detected, and GET /v1/watches/{source}/events?after_seq=N fills
// it. Prints each event once, in order, and ends when all sources are closed. Environment: REDIS_URL, POLLER_URL,
// POLLER_API_KEY, POLLER_NAMESPACE.
const redis = await import("redis").catch(() => null);
// Version 4 has no `destroy` and would fail only after the last event.
if (typeof redis?.createClient().destroy !== "function") {
  console.error("subscribe.mjs needs the package redis 5: npm install redis@5");
  process.exit(69);
}

const api = process.env.POLLER_URL ?? "http://127.0.0.1:8080";
const namespace = process.env.POLLER_NAMESPACE ?? "poller";
const key = process.env.POLLER_API_KEY;

// The last printed `seq` of each open source, which is the only state of this program. Store it in your database, in
// the transaction that processes the event.
const seen = new Map(process.argv.slice(2).map((source) => [source, 0]));

// Prints an event unless it was printed before; an event can arrive both ways.
const take = (event) => {
  if (!seen.has(event.source) || event.seq <= seen.get(event.source)) return;
  console.log(JSON.stringify(event));
  seen.set(event.source, event.seq);
  // The watch is closed.
  if (event.closed_reason) seen.delete(event.source);
  if (seen.size === 0) subscriber.destroy();
};

// Reads all recorded events of a source after the last printed one.
const catchUp = async (source) => {
  for (let more = true; more && seen.has(source); ) {
    const answer = await fetch(`${api}/v1/watches/${source}/events?after_seq=${seen.get(source)}`, {
      headers: key ? { authorization: `Bearer ${key}` } : {},
      signal: AbortSignal.timeout(10_000),
    });
    if (answer.status === 404) return; // The source is not watched yet.
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    const page = await answer.json();
    page.data.forEach(take);
    more = page.has_more;
  }
};

// The steps run one at a time, so that events are printed in order.
let work = Promise.resolve();
const then = (step) => {
  work = work.then(step).catch((error) => console.error("retrying later:", error.message));
};

const subscriber = redis.createClient({ url: process.env.REDIS_URL ?? "redis://127.0.0.1:6379/0" });
subscriber.on("error", (error) => console.error("connection lost:", error.message));
await subscriber.connect();
await subscriber.subscribe(
  [...seen.keys()].map((source) => `${namespace}:events:${source}`),
  (message) => {
    const event = JSON.parse(message);
    then(async () => {
      // An event beyond the next `seq` shows a gap.
      if (event.seq > (seen.get(event.source) ?? Infinity) + 1) await catchUp(event.source);
      take(event);
    });
  },
);

// Subscribe first, then read the history. An event recorded in between arrives twice instead of never. The client
// reconnects and subscribes again automatically. Events may be missing after each reconnect.
const catchUpAll = () => [...seen.keys()].forEach((source) => then(() => catchUp(source)));
subscriber.on("ready", catchUpAll);
catchUpAll();
