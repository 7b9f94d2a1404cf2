// Requests to the server, and the API key they use.
//
// Paths are relative to the page, so the console works behind a proxy that publishes it under a path.
//
// The key is in a cookie that scripts cannot read (ConsoleSessions.swift), so that new tabs are signed in. When the
// browser rejects the cookie, for example over plain HTTP to another machine, the key stays in this tab's storage.

import { askForKey } from "./dialogs.js";
import { pause } from "./dom.js";

const KEPT = "poller.key";
const CALLER = "v1/caller";
const SESSION = "v1/session";
/** A header of every request: without it the server ignores the cookie. */
const MARK = { "Poller-Console": "1" };
/** The caller's name at a server without keys. */
const ANYONE = "anonymous";
const TIMEOUT_MS = 60000;

/** An error response of the server. */
export class Refused extends Error {
  constructor(status, body, retryAfter) {
    super([body.title, body.detail].filter(Boolean).join(" ") || `The server answered ${status}.`);
    this.status = status;
    /** The seconds after which the server may accept the request. */
    this.retryAfter = Number(retryAfter) || 1;
    this.code = body.code;
    this.detail = body.detail ?? body.title ?? `The server answered ${status}.`;
  }
}

/** The server cannot be reached at all. */
export class Silent extends Error {}

const key = () => sessionStorage.getItem(KEPT);
/** Represents the key in the cookie. */
const COOKIE = {};
/** Whether the server has accepted the browser's cookie. */
let isSignedIn = false;

/** Signs out in every tab; the next request asks for a key. Throws when the cookie was not removed. */
export async function forgetKey() {
  const answer = await send(SESSION, { method: "DELETE", headers: MARK, signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  sessionStorage.removeItem(KEPT);
  isSignedIn = false;
}

export const hasKey = () => Boolean(key()) || isSignedIn;

/** Stores a key in the cookie, or in the tab's storage when the browser rejects the cookie. */
async function keep(text) {
  sessionStorage.setItem(KEPT, text);
  try {
    const made = await fetch(SESSION, { method: "POST", headers: { ...MARK, Authorization: `Bearer ${text}` } });
    if (!made.ok) return;
    const checked = await fetch(CALLER, { headers: MARK });
    if (checked.ok) sessionStorage.removeItem(KEPT);
  } catch {
    // The next request reports that the server does not answer.
  }
}

/** The last key that the server accepted, or `COOKIE`. */
let accepted = null;

async function send(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (options.stop?.aborted) throw error;
    throw new Silent("The server does not answer.");
  }
}

/**
 * Sends a request and returns the JSON of its response.
 *
 * Asks the user for a key when the server requires one. Throws `Refused` for an error response and `Silent`
 * without a response.
 */
export async function api(path, { method = "GET", body, stop } = {}) {
  for (;;) {
    const shown = key();
    const used = shown ?? (isSignedIn ? COOKIE : null);
    const headers = { ...MARK, ...(shown ? { Authorization: `Bearer ${shown}` } : {}) };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const signals = [AbortSignal.timeout(TIMEOUT_MS), stop].filter(Boolean);
    const answer = await send(path, {
      method, headers, stop, signal: AbortSignal.any(signals),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (answer.status === 401) {
      // Another request may have received a new key meanwhile.
      if (shown === key()) {
        const hasEnded = used !== null && used === accepted;
        isSignedIn = false;
        await keep(await askForKey(used !== null, hasEnded));
      }
      if (path === CALLER) continue;
      // Another key may have other scopes, so the console starts again.
      location.reload();
      return new Promise(() => {});
    }
    accepted = used;
    const content = await answer.json().catch((error) => {
      if (stop?.aborted) throw error;
      return {};
    });
    if (!answer.ok) throw new Refused(answer.status, content, answer.headers.get("Retry-After"));
    return content;
  }
}

export const post = (path, body, stop) => api(path, { method: "POST", body, stop });

/** Saves the response of a path as a file, such as a CSV table. */
export async function download(path, name) {
  const shown = key();
  const answer = await send(path, { headers: { ...MARK, ...(shown ? { Authorization: `Bearer ${shown}` } : {}) } });
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  const url = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  [link.href, link.download] = [url, name];
  link.click();
  // The browser has started reading it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Whether an error says that the resource or parameter does not exist. */
function isMissing(error) {
  return error instanceof Refused &&
    (error.status === 404 || error.status === 405 || error.code === "unknown_parameter");
}

/** The response, or `otherwise` when the resource does not exist or the key may not read it. */
export async function maybe(path, otherwise = null) {
  try {
    return await api(path);
  } catch (error) {
    if (isMissing(error) || error.status === 403) return otherwise;
    throw error;
  }
}

/** A path with a query; empty values are omitted. */
export function at(path, query = {}) {
  const parts = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  // A space is %20: `+` means a space in forms only.
  const text = parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return text ? `${path}?${text}` : path;
}

/** How often a page is read again that the server rejects because of the key's rate. */
const AGAIN_MAX = 3;

/** A page of a list. Lists that read many records use up the key's rate, or wait in its queue, for a moment. */
async function pageOf(path, stop) {
  for (let again = 0; ; again += 1) {
    try {
      return await api(path, { stop });
    } catch (error) {
      if (error.status !== 429 || again === AGAIN_MAX) throw error;
      await pause(1000 * error.retryAfter);
    }
  }
}

/**
 * Reads pages of a list until `want` items pass `keep`, at most `rounds` pages. Pages of filtered lists may be
 * empty. `stop` cancels the requests.
 */
export async function collect(path, query, { want = 50, rounds = 40, keep = () => true, stop } = {}) {
  const found = [];
  let [cursor, looked, page] = [query.cursor, 0, {}];
  for (let round = 0; round < rounds; round += 1) {
    page = await pageOf(at(path, { ...query, cursor }), stop);
    looked += page.looked ?? 0;
    found.push(...page.data.filter(keep));
    cursor = page.next;
    if (!page.has_more || !cursor || found.length >= want) break;
  }
  return { data: found, next: page.has_more ? cursor : null, looked };
}

// The caller and its scopes.

let caller = { name: null, scopes: null, accounts: null };

/** Reads the caller of the key. When the server cannot tell, all buttons are shown. */
export async function learnCaller() {
  caller = await maybe(CALLER, { name: null, scopes: null, accounts: null });
  isSignedIn = !key() && Boolean(caller.name) && caller.name !== ANYONE;
  if (isSignedIn) accepted = COOKIE;
  return caller;
}

export const me = () => caller;

/** Whether the caller has a scope. */
export const may = (scope) => caller.scopes === null || caller.scopes === undefined || caller.scopes.includes(scope);

/** The accounts that the key is bound to; null for all. */
export const accounts = () => caller.accounts ?? null;

// Links.

const prefixes = { src: "source", pi: "payment_intent", seti: "setup_intent", ch: "charge", py: "charge" };
const inferred = (source) => prefixes[source.split("_")[0]] ?? "http";

/** The query that identifies a watch in addition to its source. */
export function named({ source, account, kind }) {
  return {
    account: account === "default" ? undefined : account,
    kind: kind && (kind !== inferred(source) || kind === "http") ? kind : undefined,
  };
}

/** The path of a watch or of one of its parts: `poll`, `events`, `explain`. */
export function watchPath(watch, part) {
  const path = `v1/watches/${encodeURIComponent(watch.source)}${part ? `/${part}` : ""}`;
  return at(path, named(watch));
}

export const paymentLink = (watch) => at(`#/payments/${encodeURIComponent(watch.source)}`, named(watch));
export const endpointLink = (id) => `#/endpoints/${encodeURIComponent(id)}`;
export const orderLink = (order, account) =>
  at(`#/orders/${encodeURIComponent(order)}`, { account: account === "default" ? undefined : account });
