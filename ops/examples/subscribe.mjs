// Follows sources over Redis from Node: at once by pub/sub, complete by the history.
//
//     npm install redis@5
//     node ops/examples/subscribe.mjs src_123 …
//
// It needs Node 18 and the package redis 5, and says so before anything else where it finds another.
//
// Pub/sub is quick and forgets: what is published while nobody listens is gone. But every event
// carries `seq`, which counts 1, 2, 3 … for each source, so a gap is seen, and
// GET /v1/watches/{source}/events?after_seq=N fills it. Prints each event once, in order, and ends
// when nothing more can come. REDIS_URL, POLLER_URL, POLLER_API_KEY, POLLER_NAMESPACE say where.
const redis = await import("redis").catch(() => null);
// Version 4 has no `destroy`, and would only fail when the last event has come.
if (typeof redis?.createClient().destroy !== "function") {
  console.error("subscribe.mjs needs the package redis 5: npm install redis@5");
  process.exit(69);
}

const api = process.env.POLLER_URL ?? "http://127.0.0.1:8080";
const namespace = process.env.POLLER_NAMESPACE ?? "poller";
const key = process.env.POLLER_API_KEY;

// The newest `seq` printed of each source that has not ended: all this program has to remember.
// Keep it in your database, in the transaction that acts on the event.
const seen = new Map(process.argv.slice(2).map((source) => [source, 0]));

// Prints an event that is new; the same one may come by both ways.
const take = (event) => {
  if (!seen.has(event.source) || event.seq <= seen.get(event.source)) return;
  console.log(JSON.stringify(event));
  seen.set(event.source, event.seq);
  // The end: `settled`, or we stopped looking.
  if (event.closed_reason) seen.delete(event.source);
  if (seen.size === 0) subscriber.destroy();
};

// Everything recorded of a source after what we have.
const catchUp = async (source) => {
  for (let more = true; more && seen.has(source); ) {
    const answer = await fetch(`${api}/v1/watches/${source}/events?after_seq=${seen.get(source)}`, {
      headers: key ? { authorization: `Bearer ${key}` } : {},
      signal: AbortSignal.timeout(10_000),
    });
    if (answer.status === 404) return; // Nobody watches it yet.
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    const page = await answer.json();
    page.data.forEach(take);
    more = page.has_more;
  }
};

// One thing at a time, so that nothing is printed out of order.
let work = Promise.resolve();
const then = (step) => {
  work = work.then(step).catch((error) => console.error("trying again later:", error.message));
};

const subscriber = redis.createClient({ url: process.env.REDIS_URL ?? "redis://127.0.0.1:6379/0" });
subscriber.on("error", (error) => console.error("connection lost:", error.message));
await subscriber.connect();
await subscriber.subscribe(
  [...seen.keys()].map((source) => `${namespace}:events:${source}`),
  (message) => {
    const event = JSON.parse(message);
    then(async () => {
      // One that is further ahead than the next shows a gap.
      if (event.seq > (seen.get(event.source) ?? Infinity) + 1) await catchUp(event.source);
      take(event);
    });
  },
);

// First listen, then read: what is recorded in between comes twice rather than never. The client
// comes back and subscribes again by itself; each time it has, something may be missing.
const catchUpAll = () => [...seen.keys()].forEach((source) => then(() => catchUp(source)));
subscriber.on("ready", catchUpAll);
catchUpAll();
