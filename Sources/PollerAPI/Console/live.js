// What is new: events as they are recorded, by a request that waits for them.
//
// The gateway's streams are on another origin, which this page's policy lets nobody reach; a request
// that the API answers when something happens tells as soon, with the same cursors.

import { api, at, may } from "./api.js";
import { pause, visible } from "./dom.js";

const RETRY_MS = 5000;
const KEPT_MAX = 60;
/** How far back is looked at first: the longest of these that one page holds. */
const SINCE_MS = [864e5, 36e5, 6e5, 6e4];

const listeners = new Set();
let state = "connecting";
const seen = [];

/** The newest events, the newest first. */
export const recent = () => seen;

/** How the page hears: `live`, `every 5 s`, or why not. */
export const hearing = () => state;

/** Calls `told(events)` when something was recorded, and with `[]` when the state has changed. */
export function listen(told) {
  listeners.add(told);
  return () => listeners.delete(told);
}

function tell(events, now) {
  const isNew = now !== state;
  state = now;
  if (events.length || isNew) for (const told of listeners) told(events);
}

/** Follows what is recorded, for as long as the page is open. */
export async function follow() {
  if (!may("events:read")) {
    tell([], "every 5 s");
    return;
  }
  const spans = [...SINCE_MS];
  let place = null;
  for (;;) {
    try {
      const from = place ?? { from: new Date(Date.now() - spans.shift()).toISOString() };
      const page = await api(at("/v1/events", { ...from, limit: 500, wait: place ? "30s" : null }));
      if (!place && page.has_more && spans.length) continue;
      const events = page.data.slice(-KEPT_MAX);
      for (const event of events) seen.unshift(event);
      seen.length = Math.min(seen.length, KEPT_MAX);
      // When too much comes, the newest is shown.
      place = page.has_more ? { from: "now" } : { cursor: page.next };
      tell(events, "live");
      // A busy cluster is looked at once a second.
      if (page.data.length) await pause(1000);
    } catch (error) {
      if (!place) spans.unshift(SINCE_MS.at(-1));
      tell([], error.status === 503 ? "interrupted: no Redis" : "interrupted");
      await pause(RETRY_MS);
    }
    await visible();
  }
}
