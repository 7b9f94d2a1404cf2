// The console: which page is shown, and what keys lead where.

import { Silent, accounts, forgetKey, hasKey, learnCaller, may, maybe, me } from "./api.js";
import { dialog, toast } from "./dialogs.js";
import { find, h, isBusy, pause, show, visible } from "./dom.js";
import { INTERRUPTED, NO_REDIS, follow, hearing, interrupt, listen, resume } from "./live.js";
import { failure } from "./parts.js";
import { timeOfDay } from "./words.js";
import { auditPage } from "./audit.js";
import { deliveriesPage } from "./deliveries.js";
import { disputesPage } from "./disputes.js";
import { endpointPage } from "./endpoint.js";
import { endpointsPage } from "./endpoints.js";
import { healthPage } from "./health.js";
import { incidentsPage } from "./incidents.js";
import { keysPage } from "./keys.js";
import { lanesPage } from "./lanes.js";
import { latePage } from "./late.js";
import { mailPage } from "./mail.js";
import { orderPage } from "./order.js";
import { ordersPage } from "./orders.js";
import { overviewPage } from "./overview.js";
import { paymentPage } from "./payment.js";
import { paymentsPage } from "./payments.js";
import { processesPage } from "./processes.js";
import { quarantinePage } from "./quarantine.js";

const REFRESH_MS = 5000;
/** Events come in bursts: a page looks again at most so often. */
const SETTLE_MS = 700;
/** What takes long to read each time is read the less often: a tenth of the time, and once in five minutes at least. */
const [REST, REST_MAX_MS] = [10, 300000];

// What there is: the path, what it is called, the key after `g`, what it takes, what makes it.
const pages = [
  { path: "", name: "Overview", key: "o", make: overviewPage },
  { path: "payments", name: "Payments", key: "p", scope: "watches:read", make: paymentsPage, one: paymentPage },
  { path: "orders", make: ordersPage, one: orderPage, of: "payments" },
  { path: "late", name: "Late", key: "t", scope: "watches:read", make: latePage },
  { path: "disputes", name: "Disputes", key: "u", scope: "watches:read", make: disputesPage },
  { path: "endpoints", name: "Endpoints", key: "e", scope: "endpoints:read", make: endpointsPage, one: endpointPage },
  { path: "deliveries", name: "Deliveries", key: "d", scope: "deliveries:read", make: deliveriesPage },
  { path: "lanes", name: "Lanes", key: "l", scope: "lanes:read", make: lanesPage },
  { path: "quarantine", name: "Quarantine", key: "q", scope: "watches:read", make: quarantinePage },
  { path: "incidents", name: "Incidents", key: "i", scope: "cluster:read", make: incidentsPage },
  { path: "health", name: "Health", key: "h", scope: "cluster:read", make: healthPage },
  { path: "processes", name: "Processes", key: "r", scope: "cluster:read", make: processesPage },
  { path: "mail", name: "Mail", key: "m", scope: "mail:read", make: mailPage },
  { path: "audit", name: "Audit", key: "a", hides: true, make: auditPage },
  { path: "keys", name: "Keys", key: "k", scope: "keys:manage", make: keysPage },
];

const isShown = (page) => page.name && (!page.scope || may(page.scope)) && !page.hides;
let current = null;
/** The look that waits for a burst of events to be over. */
let settling = null;
/** Where each address was scrolled to when it was left. */
const places = new Map();
/** Since when the server or Redis does not answer. */
let silentSince = null;

/** How long a page rests before it is read again by itself. */
const rest = (mine, least) => Math.max(least, Math.min(REST_MAX_MS, REST * (mine.took ?? 0)));

/** What the address says: `#/payments/src_1?account=shop`. */
function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const query_ = new URLSearchParams(query);
  let id = null;
  try {
    id = rest.length ? decodeURIComponent(rest.join("/")) : null;
  } catch {
    // No address of ours.
  }
  return { name, id, query: query_ };
}

function drawNav() {
  const { name } = read();
  const here = pages.find((page) => page.path === name);
  const chosen = here?.of ?? here?.path;
  const who = me();
  show(find("#nav"),
    h("ul", null, pages.filter(isShown).map((page) => h("li", null,
      h("a", { href: `#/${page.path}`, "aria-current": page.path === chosen ? "page" : null, "data-key": `nav ${page.path}` },
        page.name)))),
    h("div", { class: "foot" },
      h("p", { id: "hearing" }),
      who.name && hasKey() && h("p", { class: "soft", title: (who.scopes ?? []).join(", ") }, who.name),
      accounts() && h("p", { class: "soft" }, `Only ${accounts().join(", ")}`),
      h("p", null,
        h("button", { type: "button", class: "quiet", onclick: help }, "Shortcuts ", h("kbd", null, "?")),
        hasKey() && h("button", { type: "button", class: "quiet", onclick: signOut }, "Sign out"))));
  drawHearing();
}

async function signOut() {
  try {
    await forgetKey();
  } catch (error) {
    toast(`You are still signed in, in every tab. ${error.message}`, true);
    return;
  }
  location.reload();
}

function drawHearing() {
  // Before anybody is known there is nothing to draw it in.
  if (!find("#hearing")) return;
  const now = hearing();
  const colour = now === "live" ? "good" : now.startsWith("interrupted") ? "bad" : "";
  show(find("#hearing"), h("span", { class: `badge ${colour}` }, now));
}

/** Shows the page the address names, from its beginning. */
async function open() {
  const { name, id, query } = read();
  const page = pages.find((one) => one.path === name);
  if (current) places.set(current.hash, window.scrollY);
  current?.stop.abort();
  clearTimeout(settling);
  settling = null;
  const stop = new AbortController();
  const mine = { stop: stop.signal, id, query, refresh: () => refresh(mine, true) };
  current = { stop, mine, last: 0, hash: location.hash };
  // Who comes back is where they were; a new address begins at its top.
  const isBack = history.state?.seen;
  history.replaceState({ seen: true }, "");
  for (const one of document.querySelectorAll(".toast.bad")) one.remove();
  document.body.classList.remove("menu");
  find("#menu").setAttribute("aria-expanded", "false");
  if (name !== "payments" || id) find("#q").value = "";
  else find("#q").value = query.get("q") ?? "";
  drawNav();
  const main = find("#main");
  const make = id ? page?.one : page?.make;
  if (!make) {
    main.removeAttribute("aria-busy");
    show(main, h("h1", null, "No such page"), h("p", null, h("a", { href: "#/" }, "Overview")));
    return;
  }
  mine.make = make;
  mine.isNew = true;
  main.setAttribute("aria-busy", "true");
  choose(main);
  await refresh(mine, true);
  if (stop.signal.aborted) return;
  window.scrollTo(0, isBack ? places.get(current.hash) ?? 0 : 0);
  const active = document.activeElement;
  if (active === document.body || active === main || active?.closest("#nav")) find("h1", main)?.focus({ preventScroll: true });
}

/** Shows at once which tab was chosen: what it shows may take a while. */
function choose(main) {
  for (const tabs of main.querySelectorAll(".tabs")) {
    const links = [...tabs.querySelectorAll("a")];
    if (!links.some((link) => link.hash === location.hash)) continue;
    for (const link of links) {
      if (link.hash === location.hash) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
}

/** Reads what the page shows anew; unless asked to, not under somebody's hands. */
async function refresh(mine, isAsked = false) {
  // The request belongs to a page that is no longer open.
  if (mine.stop.aborted) return;
  const main = find("#main");
  if (mine.isReading) {
    mine.isAsked ||= isAsked;
    return;
  }
  mine.isReading = true;
  const began = Date.now();
  let isRead = true;
  try {
    const content = await mine.make(mine);
    if (mine.stop.aborted) return;
    if (content && (isAsked || mine.isNew || !isBusy(main))) show(main, content);
    mine.isNew = false;
    silentSince = null;
    resume();
    document.body.classList.remove("silent");
  } catch (error) {
    if (mine.stop.aborted) return;
    isRead = false;
    if (!mine.isNew && !(error instanceof Silent) && error.status !== 503) toast(error.message, true);
    if (mine.isNew || error.status === 503 || error instanceof Silent) {
      // What was shown may not be true any more.
      show(main, trouble(error));
    }
  } finally {
    mine.isReading = false;
    if (current?.mine === mine) {
      main.removeAttribute("aria-busy");
      // How long nobody answered says nothing of how long reading takes, and counts as rest.
      const took = isRead ? Date.now() - began : 0;
      // One slow read alone is the machine's, and not the page's.
      mine.took = Math.min(took, mine.tookBefore ?? 0);
      mine.tookBefore = took;
      current.last = isRead ? Date.now() : began;
      if (mine.isAsked) {
        mine.isAsked = false;
        refresh(mine, true);
      }
    }
  }
}

/** Why nothing can be shown, since when, and what that means. */
function trouble(error) {
  const isRedis = error.status === 503;
  if (!isRedis && !(error instanceof Silent)) return [h("h1", null, "This cannot be shown"), failure(error)];
  silentSince ??= Date.now();
  interrupt(isRedis ? NO_REDIS : INTERRUPTED);
  return [
    h("h1", null, isRedis ? "Redis cannot be reached" : "The server cannot be reached"), failure(error),
    h("p", null, isRedis ? "The API cannot reach Redis, so nothing is polled, recorded or delivered now. What was "
      + "accepted goes on when Redis is back. " : "Is pollerd running, and this computer connected? ",
    `So it is since ${timeOfDay(silentSince)}; this page looks again every 5 s.`),
  ];
}

async function keepFresh() {
  for (;;) {
    await pause(1000);
    await visible();
    if (current && Date.now() - current.last >= rest(current.mine, REFRESH_MS) && !document.querySelector("dialog")) {
      await refresh(current.mine);
    }
  }
}

listen((events) => {
  drawHearing();
  if (!events.length || settling || !current) return;
  settling = setTimeout(() => {
    settling = null;
    if (!document.querySelector("dialog")) refresh(current.mine);
  }, Math.max(SETTLE_MS, current.last + rest(current.mine, 0) - Date.now()));
});

// Keys.

function help() {
  const rows = [
    [["/"], "Search"],
    ...pages.filter(isShown).map((page) => [["g", page.key], page.name]),
    [["j", "k"], "The next row, the one before"], [["Enter"], "Open it"], [["r"], "Look again"],
    [["Esc"], "Close, or leave the field"], [["?"], "This list"],
  ];
  dialog({
    title: "Shortcuts", submit: "Close", last: true,
    body: [h("p", null, "Two keys one after the other lead to a page."), h("dl", { class: "keys" }, rows.map(([keys, text]) =>
      h("div", null, h("dt", null, keys.map((key) => h("kbd", null, key))), h("dd", null, text))))],
  });
}

function step(by) {
  const rows = [...document.querySelectorAll("#main a.row")];
  const here = rows.indexOf(document.activeElement);
  rows[here < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, here + by))]?.focus();
}

let isGoing = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest("input, select, textarea");
  if (event.key === "Escape") {
    if (field && !field.closest("dialog")) field.blur();
    document.body.classList.remove("menu");
    return;
  }
  if (field || document.querySelector("dialog")) return;
  if (Date.now() - isGoing < 1500) {
    isGoing = 0;
    const page = pages.find((one) => one.key === event.key && isShown(one));
    if (page) {
      event.preventDefault();
      location.hash = `/${page.path}`;
      return;
    }
  }
  const does = {
    "/": () => find("#q").select(), g: () => { isGoing = Date.now(); }, "?": help,
    j: () => step(1), k: () => step(-1), r: () => current?.mine.refresh(),
  }[event.key];
  if (!does) return;
  event.preventDefault();
  does();
});

find("#search").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = find("#q").value.trim();
  const to = text ? `#/payments?q=${encodeURIComponent(text)}&go=1` : "#/payments";
  find("#q").blur();
  if (location.hash === to) open();
  else location.hash = to;
});

find("#menu").addEventListener("click", () => {
  const isOpen = document.body.classList.toggle("menu");
  find("#menu").setAttribute("aria-expanded", String(isOpen));
});

find(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  find("#main").focus();
});

async function start() {
  for (;;) {
    try {
      await learnCaller();
      break;
    } catch (error) {
      show(find("#main"), trouble(error));
      await pause(REFRESH_MS);
    }
  }
  history.scrollRestoration = "manual";
  window.addEventListener("hashchange", open);
  open();
  follow();
  keepFresh();
  const audit = pages.find((page) => page.path === "audit");
  audit.hides = !(await maybe("v1/audit?limit=1").catch(() => null));
  if (!audit.hides) drawNav();
}

start();
