// Everything that is asked of the server, and the key it is asked with.
//
// Paths are relative to the page: below which path of its host a proxy publishes it is the browser's to know.
//
// The key is in a cookie that no script can read (ConsoleSessions.swift), so that a new tab is signed in. If a browser
// keeps no such cookie, as over plain HTTP to another machine, the key stays in the storage of this tab.

import { askForKey } from "./dialogs.js";

const KEPT = "poller.key";
const CALLER = "v1/caller";
const SESSION = "v1/session";
/** What requests of the console have: without it the cookie does not count. */
const MARK = { "Poller-Console": "1" };
/** Who asks at a server without keys. */
const ANYONE = "anonymous";
const PATIENCE_MS = 60000;

/** What the server says of a request that failed. */
export class Refused extends Error {
  constructor(status, body) {
    super([body.title, body.detail].filter(Boolean).join(" ") || `The server answered ${status}.`);
    this.status = status;
    this.code = body.code;
    this.detail = body.detail ?? body.title ?? `The server answered ${status}.`;
  }
}

/** The server cannot be reached at all. */
export class Silent extends Error {}

const key = () => sessionStorage.getItem(KEPT);
/** Stands for the key in the cookie. */
const COOKIE = {};
/** Whether the browser has shown a cookie that counts. */
let isSignedIn = false;

/** Forgets the key, in every tab; the next request asks for one. Throws when the cookie stays. */
export async function forgetKey() {
  const answer = await send(SESSION, { method: "DELETE", headers: MARK, signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  sessionStorage.removeItem(KEPT);
  isSignedIn = false;
}

export const hasKey = () => Boolean(key()) || isSignedIn;

/** Puts a key into the cookie; it stays in the tab's storage where the browser keeps no cookie. */
async function keep(text) {
  sessionStorage.setItem(KEPT, text);
  try {
    const made = await fetch(SESSION, { method: "POST", headers: { ...MARK, Authorization: `Bearer ${text}` } });
    if (!made.ok) return;
    const seen = await fetch(CALLER, { headers: MARK });
    if (seen.ok) sessionStorage.removeItem(KEPT);
  } catch {
    // The next request reports that the server does not answer.
  }
}

/** The key that was good last, or that the cookie's was. */
let good = null;

async function send(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (options.stop?.aborted) throw error;
    throw new Silent("The server does not answer.");
  }
}

/**
 * Sends a request and gives the answer's JSON.
 *
 * Asks for a key when the server wants one. Throws `Refused` with what the server says, and `Silent`
 * when nothing does.
 */
export async function api(path, { method = "GET", body, stop } = {}) {
  for (;;) {
    const shown = key();
    const used = shown ?? (isSignedIn ? COOKIE : null);
    const headers = { ...MARK, ...(shown ? { Authorization: `Bearer ${shown}` } : {}) };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const signals = [AbortSignal.timeout(PATIENCE_MS), stop].filter(Boolean);
    const answer = await send(path, {
      method, headers, stop, signal: AbortSignal.any(signals),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (answer.status === 401) {
      // Another request may have got a better key meanwhile.
      if (shown === key()) {
        const hasEnded = used !== null && used === good;
        isSignedIn = false;
        await keep(await askForKey(used !== null, hasEnded));
      }
      if (path === CALLER) continue;
      // Another key may do something else: everything begins anew.
      location.reload();
      return new Promise(() => {});
    }
    good = used;
    const told = await answer.json().catch((error) => {
      if (stop?.aborted) throw error;
      return {};
    });
    if (!answer.ok) throw new Refused(answer.status, told);
    return told;
  }
}

export const post = (path, body, stop) => api(path, { method: "POST", body, stop });

/** Has the browser save what a path answers, such as a table as CSV. */
export async function download(path, name) {
  const shown = key();
  const answer = await send(path, { headers: { ...MARK, ...(shown ? { Authorization: `Bearer ${shown}` } : {}) } });
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  const url = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  [link.href, link.download] = [url, name];
  link.click();
  // By then the browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Whether a failure only says that this server has no such thing. */
function isMissing(error) {
  return error instanceof Refused &&
    (error.status === 404 || error.status === 405 || error.code === "unknown_parameter");
}

/** The answer, or `otherwise` when the server has no such thing or the key may not see it. */
export async function maybe(path, otherwise = null) {
  try {
    return await api(path);
  } catch (error) {
    if (isMissing(error) || error.status === 403) return otherwise;
    throw error;
  }
}

/** A path with a query; what is nothing is left out. */
export function at(path, query = {}) {
  const parts = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  // A blank as %20: `+` is one in forms alone.
  const text = parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return text ? `${path}?${text}` : path;
}

/**
 * Pages of a list until there are `want` items that `keep`s, for lists whose pages may be empty; `stop` ends
 * it when nobody wants the list any more.
 */
export async function collect(path, query, { want = 50, rounds = 40, keep = () => true, stop } = {}) {
  const found = [];
  let [cursor, looked, told] = [query.cursor, 0, {}];
  for (let round = 0; round < rounds; round += 1) {
    told = await api(at(path, { ...query, cursor }), { stop });
    looked += told.looked ?? 0;
    found.push(...told.data.filter(keep));
    cursor = told.next;
    if (!told.has_more || !cursor || found.length >= want) break;
  }
  return { data: found, next: told.has_more ? cursor : null, looked };
}

// Who asks, and what they may do.

let caller = { name: null, scopes: null, accounts: null };

/** Asks who the key's holder is; a server that cannot say lets the buttons be. */
export async function learnCaller() {
  caller = await maybe(CALLER, { name: null, scopes: null, accounts: null });
  isSignedIn = !key() && Boolean(caller.name) && caller.name !== ANYONE;
  if (isSignedIn) good = COOKIE;
  return caller;
}

export const me = () => caller;

/** Whether the key's holder may do this. */
export const may = (scope) => caller.scopes === null || caller.scopes === undefined || caller.scopes.includes(scope);

/** What the holder of a key that is bound to accounts sees of the list of accounts; null for all. */
export const accounts = () => caller.accounts ?? null;

// Where things are.

const prefixes = { src: "source", pi: "payment_intent", seti: "setup_intent", ch: "charge", py: "charge" };
const inferred = (source) => prefixes[source.split("_")[0]] ?? "http";

/** The query that names a watch beside its source. */
export function named({ source, account, kind }) {
  return {
    account: account === "default" ? undefined : account,
    kind: kind && (kind !== inferred(source) || kind === "http") ? kind : undefined,
  };
}

/** The path of a watch, or of something of it: `poll`, `events`, `explain`. */
export function watchPath(watch, part) {
  const path = `v1/watches/${encodeURIComponent(watch.source)}${part ? `/${part}` : ""}`;
  return at(path, named(watch));
}

export const paymentLink = (watch) => at(`#/payments/${encodeURIComponent(watch.source)}`, named(watch));
export const endpointLink = (id) => `#/endpoints/${encodeURIComponent(id)}`;
export const orderLink = (order, account) =>
  at(`#/orders/${encodeURIComponent(order)}`, { account: account === "default" ? undefined : account });
