// What is new: events as they are recorded, by a request that waits for them.
//
// The gateway's streams are on another origin, which this page's policy lets nobody reach; a request
// that the API answers when something happens tells as soon, with the same cursors.

import { api, at, may } from "./api.js";
import { pause, visible } from "./dom.js";

const RETRY_MS = 5000;
const KEPT_MAX = 60;
/** How far back is looked at first: the longest of these that one page holds. */
const SINCE = [["day", 864e5], ["hour", 36e5], ["10 minutes", 6e5], ["minute", 6e4]];
/** A span with fewer events is too short where the one before it has more. */
const ENOUGH = 12;
/** Pages that are read on to the newest events of a longer span. */
const PAGES = 20;

/** What is said while nothing is heard. */
export const [INTERRUPTED, NO_REDIS] = ["interrupted", "interrupted: no Redis"];
/** What is said to whoever may not read events. */
const BY_ITSELF = "every 5 s";

const listeners = new Set();
/** Ends the request that waits for news, and the rest after one that failed. */
let [hanging, wake] = [null, () => {}];
/** Whether the page has seen that nothing can be heard. */
let isCut = false;
let state = "connecting";
let since = null;
const seen = [];

/** The newest events, the newest first. */
export const recent = () => seen;

/** How the page hears: `live`, `every 5 s`, or why not. */
export const hearing = () => state;

/** How far back was looked for events: `the last hour`; null until that is known. */
export const heardSince = () => since && `the last ${since}`;

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

/** Somebody has seen that nothing can be heard: a request that hangs would say `live` for as long as it does. */
export function interrupt(why) {
  isCut = true;
  tell([], why);
  hanging?.abort();
}

/** Somebody was answered again: what is new is asked for at once. */
export function resume() {
  if (!isCut) return;
  isCut = false;
  if (!may("events:read")) tell([], BY_ITSELF);
  wake();
}

const read = (from) => api(at("v1/events", { ...from, limit: 500 }));

/** The newest events of a span whose first page is known; null when that would take too long. */
async function newest(page) {
  let kept = page.data;
  for (let round = 0; page.has_more; round += 1) {
    if (round === PAGES) return null;
    page = await read({ cursor: page.next });
    kept = [...kept, ...page.data].slice(-KEPT_MAX);
  }
  return { ...page, data: kept };
}

/** What was last, with the place where it goes on. */
async function begin() {
  let longer = null;
  for (const [name, ms] of SINCE) {
    const page = await read({ from: new Date(Date.now() - ms).toISOString() });
    if (page.has_more) {
      longer = { name, page };
      continue;
    }
    const told = longer && page.data.length < ENOUGH ? await newest(longer.page) : null;
    since = told ? longer.name : name;
    return told ?? page;
  }
  since = longer.name;
  return await newest(longer.page) ?? longer.page;
}

/** Follows what is recorded, for as long as the page is open. */
export async function follow() {
  if (!may("events:read")) {
    tell([], BY_ITSELF);
    return;
  }
  let place = null;
  for (;;) {
    hanging = new AbortController();
    try {
      // While it is not known whether anybody answers, nothing is waited for.
      const path = at("v1/events", { ...place, limit: 500, wait: isCut ? undefined : "30s" });
      const page = place ? await api(path, { stop: hanging.signal }) : await begin();
      isCut = false;
      const events = page.data.slice(-KEPT_MAX);
      for (const event of events) seen.unshift(event);
      seen.length = Math.min(seen.length, KEPT_MAX);
      // When too much comes, the newest is shown.
      place = page.has_more ? { from: "now" } : { cursor: page.next };
      tell(events, "live");
      // A busy cluster is looked at once a second.
      if (page.data.length) await pause(1000);
    } catch (error) {
      if (!hanging.signal.aborted) tell([], error.status === 503 ? NO_REDIS : INTERRUPTED);
      await Promise.race([pause(RETRY_MS), new Promise((done) => { wake = done; })]);
    }
    await visible();
  }
}
