// The console's router, refresh loop and keyboard shortcuts.

import { Silent, accounts, forgetKey, hasKey, learnCaller, may, maybe, me } from "./api.js";
import { dialog, toast } from "./dialogs.js";
import { find, h, isBusy, pause, show, visible } from "./dom.js";
import { INTERRUPTED, NO_REDIS, connection, follow, interrupt, listen, resume } from "./live.js";
import { failure } from "./parts.js";
import { timeOfDay, upper } from "./words.js";
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
/** Events come in bursts: the shortest time between two refreshes caused by events. */
const SETTLE_MS = 700;
/** A slow page is read less often: it pauses ten times as long as a read takes, at most five minutes. */
const [REST, REST_MAX_MS] = [10, 300000];

// The pages: path, name, key after `g`, required scope, and the functions that build the list and a single item.
const pages = [
  { path: "", name: "Overview", key: "o", make: overviewPage },
  { path: "payments", name: "Payments", key: "p", scope: "watches:read", make: paymentsPage, one: paymentPage },
  { path: "orders", make: ordersPage, one: orderPage, of: "payments" },
  { path: "late", name: "Late payments", key: "t", scope: "watches:read", make: latePage },
  { path: "disputes", name: "Disputes", key: "u", scope: "watches:read", make: disputesPage },
  { path: "endpoints", name: "Endpoints", key: "e", scope: "endpoints:read", make: endpointsPage, one: endpointPage },
  { path: "deliveries", name: "Deliveries", key: "d", scope: "deliveries:read", make: deliveriesPage },
  { path: "lanes", name: "Lanes", key: "l", scope: "lanes:read", make: lanesPage },
  { path: "quarantine", name: "Quarantine", key: "q", scope: "watches:read", make: quarantinePage },
  { path: "incidents", name: "Incidents", key: "i", scope: "cluster:read", make: incidentsPage },
  { path: "health", name: "Health", key: "h", scope: "cluster:read", make: healthPage },
  { path: "processes", name: "Processes", key: "r", scope: "cluster:read", make: processesPage },
  { path: "mail", name: "Email", key: "m", scope: "mail:read", make: mailPage },
  { path: "audit", name: "Audit log", key: "a", hides: true, make: auditPage },
  { path: "keys", name: "API keys", key: "k", scope: "keys:manage", make: keysPage },
];

const isShown = (page) => page.name && (!page.scope || may(page.scope)) && !page.hides;
let current = null;
/** The timer of a refresh that waits for the end of a burst of events. */
let settling = null;
/** The scroll position of each address when it was left. */
const scrollPositions = new Map();
/** Since when the server or Redis is unreachable. */
let silentSince = null;

/** The pause before a page is read again automatically. */
const rest = (mine, least) => Math.max(least, Math.min(REST_MAX_MS, REST * (mine.took ?? 0)));

/** Parses the address: `#/payments/src_1?account=shop`. */
function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const query_ = new URLSearchParams(query);
  let id = null;
  try {
    id = rest.length ? decodeURIComponent(rest.join("/")) : null;
  } catch {
    // Not a valid address of the console.
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
      accounts() && h("p", { class: "soft" }, `Accounts: ${accounts().join(", ")}`),
      h("p", null,
        h("button", { type: "button", class: "quiet", onclick: help }, "Shortcuts ", h("kbd", null, "?")),
        hasKey() && h("button", { type: "button", class: "quiet", onclick: signOut }, "Sign out"))));
  drawConnection();
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

function drawConnection() {
  // The navigation is drawn after the caller is known.
  if (!find("#hearing")) return;
  const now = connection();
  const colour = now === "live" ? "good" : now.startsWith("interrupted") ? "bad" : "";
  show(find("#hearing"), h("span", { class: `badge ${colour}` }, upper(now)));
}

/** Opens the page of the address. */
async function open() {
  const { name, id, query } = read();
  const page = pages.find((one) => one.path === name);
  if (current) scrollPositions.set(current.hash, window.scrollY);
  current?.stop.abort();
  clearTimeout(settling);
  settling = null;
  const stop = new AbortController();
  const mine = { stop: stop.signal, id, query, refresh: () => refresh(mine, true) };
  current = { stop, mine, last: 0, hash: location.hash };
  // Going back restores the scroll position; a new address starts at the top.
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
    // There is nothing to read again.
    current = null;
    main.removeAttribute("aria-busy");
    show(main, h("h1", null, "Page not found"), h("p", null, h("a", { href: "#/" }, "Overview")));
    return;
  }
  mine.make = make;
  mine.isNew = true;
  main.setAttribute("aria-busy", "true");
  choose(main);
  await refresh(mine, true);
  if (stop.signal.aborted) return;
  window.scrollTo(0, isBack ? scrollPositions.get(current.hash) ?? 0 : 0);
  const active = document.activeElement;
  if (active === document.body || active === main || active?.closest("#nav")) find("h1", main)?.focus({ preventScroll: true });
}

/** Marks the chosen tab at once, because its content may take a while. */
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

/** Reads the page again. An automatic refresh does not replace content the user is working with. */
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
      // The content may be outdated.
      show(main, trouble(error));
    }
  } finally {
    mine.isReading = false;
    if (current?.mine === mine) {
      main.removeAttribute("aria-busy");
      // A failed read does not count as a slow one.
      const took = isRead ? Date.now() - began : 0;
      // A single slow read does not make the page slow.
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

/** Explains why the page cannot be shown. */
function trouble(error) {
  const isRedis = error.status === 503;
  if (!isRedis && !(error instanceof Silent)) return [h("h1", null, "This page cannot be shown"), failure(error)];
  silentSince ??= Date.now();
  interrupt(isRedis ? NO_REDIS : INTERRUPTED);
  return [
    h("h1", null, isRedis ? "Redis cannot be reached" : "The server cannot be reached"), failure(error),
    h("p", null, isRedis ? "The API cannot reach Redis, so polling and delivery have stopped. Accepted "
      + "payments continue when Redis recovers. " : "Check that pollerd is running and that this computer is online. ",
    `Since ${timeOfDay(silentSince)}. This page retries every 5 s.`),
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
  drawConnection();
  if (!events.length || settling || !current) return;
  settling = setTimeout(() => {
    settling = null;
    if (!document.querySelector("dialog")) refresh(current.mine);
  }, Math.max(SETTLE_MS, current.last + rest(current.mine, 0) - Date.now()));
});

// Keyboard shortcuts.

function help() {
  const rows = [
    [["/"], "Search"],
    ...pages.filter(isShown).map((page) => [["g", page.key], page.name]),
    [["j", "k"], "Next row, previous row"], [["Enter"], "Open the row"], [["r"], "Refresh"],
    [["Esc"], "Close or leave the field"], [["?"], "Show shortcuts"],
  ];
  dialog({
    title: "Shortcuts", submit: "Close", last: true,
    body: [h("p", null, "Press g and then a letter to open a page."), h("dl", { class: "keys" }, rows.map(([keys, text]) =>
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
