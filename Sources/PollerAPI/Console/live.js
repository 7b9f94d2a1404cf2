// New events, by long polling.
//
// The gateway's streams are on another origin, which the page's content security policy blocks. Long polling of the
// API is as fast and uses the same cursors.

import { api, at, may } from "./api.js";
import { pause, visible } from "./dom.js";

const RETRY_MS = 5000;
const KEPT_MAX = 60;
/** The time ranges tried at the start: the longest one that fits one page is used. */
const SINCE = [["day", 864e5], ["hour", 36e5], ["10 minutes", 6e5], ["minute", 6e4]];
/** With fewer events than this, the next longer range is read instead. */
const ENOUGH = 12;
/** The most pages read to reach the newest events of a longer range. */
const PAGES = 20;

/** The connection states without new events. */
export const [INTERRUPTED, NO_REDIS] = ["interrupted", "interrupted: no Redis"];
/** The connection state of callers that may not read events. */
const PERIODIC = "refreshed every 5 s";

const listeners = new Set();
/** Cancels the waiting request, and the pause after a failed one. */
let [hanging, wake] = [null, () => {}];
/** Whether a page has reported that the server or Redis is unreachable. */
let isCut = false;
let state = "connecting";
let since = null;
const latest = [];

/** The latest events, newest first. */
export const recent = () => latest;

/** The connection state: `live`, `refreshed every 5 s`, or an interruption. */
export const connection = () => state;

/** The time range of the latest events, such as `the last hour`; null before the first read. */
export const recentRange = () => since && `the last ${since}`;

/** Calls `listener(events)` with new events, and with `[]` when the connection state changes. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(events, now) {
  const isNew = now !== state;
  state = now;
  if (events.length || isNew) for (const listener of listeners) listener(events);
}

/** Reports an outage that a page has found, because a hanging request would keep the state `live`. */
export function interrupt(why) {
  isCut = true;
  notify([], why);
  hanging?.abort();
}

/** Reports that a request succeeded again; new events are requested at once. */
export function resume() {
  if (!isCut) return;
  isCut = false;
  if (!may("events:read")) notify([], PERIODIC);
  wake();
}

const read = (from) => api(at("v1/events", { ...from, limit: 500 }));

/** Reads from the first page of a range to its newest events; null when it has too many pages. */
async function newest(page) {
  let kept = page.data;
  for (let round = 0; page.has_more; round += 1) {
    if (round === PAGES) return null;
    page = await read({ cursor: page.next });
    kept = [...kept, ...page.data].slice(-KEPT_MAX);
  }
  return { ...page, data: kept };
}

/** The latest events and the cursor to continue from. */
async function begin() {
  let longer = null;
  for (const [name, ms] of SINCE) {
    const page = await read({ from: new Date(Date.now() - ms).toISOString() });
    if (page.has_more) {
      longer = { name, page };
      continue;
    }
    const extended = longer && page.data.length < ENOUGH ? await newest(longer.page) : null;
    since = extended ? longer.name : name;
    return extended ?? page;
  }
  since = longer.name;
  return await newest(longer.page) ?? longer.page;
}

/** Follows new events while the page is open. */
export async function follow() {
  if (!may("events:read")) {
    notify([], PERIODIC);
    return;
  }
  let position = null;
  for (;;) {
    hanging = new AbortController();
    try {
      // After an outage the first request does not wait, so that the state is updated at once.
      const path = at("v1/events", { ...position, limit: 500, wait: isCut ? undefined : "30s" });
      const page = position ? await api(path, { stop: hanging.signal }) : await begin();
      isCut = false;
      const events = page.data.slice(-KEPT_MAX);
      for (const event of events) latest.unshift(event);
      latest.length = Math.min(latest.length, KEPT_MAX);
      // With too many events, older ones are skipped.
      position = page.has_more ? { from: "now" } : { cursor: page.next };
      notify(events, "live");
      // At most one request a second on a busy cluster.
      if (page.data.length) await pause(1000);
    } catch (error) {
      if (!hanging.signal.aborted) notify([], error.status === 503 ? NO_REDIS : INTERRUPTED);
      await Promise.race([pause(RETRY_MS), new Promise((done) => { wake = done; })]);
    }
    await visible();
  }
}
