// The console: which page is shown, and what keys lead where.

import { Silent, accounts, forgetKey, hasKey, learnCaller, may, maybe, me } from "./api.js";
import { dialog, toast } from "./dialogs.js";
import { find, h, isBusy, pause, show, visible } from "./dom.js";
import { follow, hearing, listen } from "./live.js";
import { failure } from "./parts.js";
import { auditPage } from "./audit.js";
import { deliveriesPage } from "./deliveries.js";
import { endpointPage } from "./endpoint.js";
import { endpointsPage } from "./endpoints.js";
import { keysPage } from "./keys.js";
import { lanesPage } from "./lanes.js";
import { mailPage } from "./mail.js";
import { orderPage } from "./order.js";
import { overviewPage } from "./overview.js";
import { paymentPage } from "./payment.js";
import { paymentsPage } from "./payments.js";
import { processesPage } from "./processes.js";
import { quarantinePage } from "./quarantine.js";

const REFRESH_MS = 5000;
/** Events come in bursts: a page looks again at most so often. */
const SETTLE_MS = 700;

// What there is: the path, what it is called, the key after `g`, what it takes, what makes it.
const pages = [
  { path: "", name: "Overview", key: "o", make: overviewPage },
  { path: "payments", name: "Payments", key: "p", scope: "watches:read", make: paymentsPage, one: paymentPage },
  { path: "orders", one: orderPage, of: "payments" },
  { path: "endpoints", name: "Endpoints", key: "e", scope: "endpoints:read", make: endpointsPage, one: endpointPage },
  { path: "deliveries", name: "Deliveries", key: "d", scope: "deliveries:read", make: deliveriesPage },
  { path: "lanes", name: "Lanes", key: "l", scope: "lanes:read", make: lanesPage },
  { path: "quarantine", name: "Quarantine", key: "q", scope: "watches:read", make: quarantinePage },
  { path: "processes", name: "Processes", key: "r", scope: "cluster:read", make: processesPage },
  { path: "mail", name: "Mail", key: "m", scope: "mail:read", make: mailPage },
  { path: "audit", name: "Audit", key: "a", hides: true, make: auditPage },
  { path: "keys", name: "Keys", key: "k", scope: "keys:manage", make: keysPage },
];

const isShown = (page) => page.name && (!page.scope || may(page.scope)) && !page.hides;
let current = null;

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
        hasKey() && h("button", {
          type: "button", class: "quiet", onclick: () => { forgetKey(); location.reload(); },
        }, "Sign out"))));
  drawHearing();
}

function drawHearing() {
  const now = hearing();
  const colour = now === "live" ? "good" : now.startsWith("interrupted") ? "bad" : "";
  show(find("#hearing"), h("span", { class: `badge ${colour}` }, now));
}

/** Shows the page the address names, from its beginning. */
async function open() {
  const { name, id, query } = read();
  const page = pages.find((one) => one.path === name);
  current?.stop.abort();
  const stop = new AbortController();
  const mine = { stop: stop.signal, id, query, refresh: () => refresh(mine, true) };
  current = { stop, mine, last: 0 };
  document.body.classList.remove("menu");
  find("#menu").setAttribute("aria-expanded", "false");
  if (name !== "payments" || id) find("#q").value = "";
  else find("#q").value = query.get("q") ?? "";
  drawNav();
  const main = find("#main");
  const make = id ? page?.one : page?.make;
  if (!make) {
    show(main, h("h1", null, "No such page"), h("p", null, h("a", { href: "#/" }, "Overview")));
    return;
  }
  mine.make = make;
  mine.isNew = true;
  main.setAttribute("aria-busy", "true");
  await refresh(mine, true);
  window.scrollTo(0, 0);
}

/** Reads what the page shows anew; unless asked to, not under somebody's hands. */
async function refresh(mine, isAsked = false) {
  const main = find("#main");
  if (mine.isReading) {
    mine.isAsked ||= isAsked;
    return;
  }
  mine.isReading = true;
  try {
    const content = await mine.make(mine);
    if (mine.stop.aborted) return;
    if (content && (isAsked || mine.isNew || !isBusy(main))) show(main, content);
    mine.isNew = false;
    document.body.classList.remove("silent");
  } catch (error) {
    if (mine.stop.aborted) return;
    if (!mine.isNew && !(error instanceof Silent) && error.status !== 503) toast(error.message, true);
    if (mine.isNew || error.status === 503 || error instanceof Silent) {
      // What was shown may not be true any more.
      show(main, h("h1", { class: "hidden" }, "Poller"), failure(error), trouble(error));
    }
  } finally {
    mine.isReading = false;
    main.removeAttribute("aria-busy");
    if (current?.mine === mine) {
      current.last = Date.now();
      if (mine.isAsked) {
        mine.isAsked = false;
        refresh(mine, true);
      }
    }
  }
}

function trouble(error) {
  if (error.status === 503) {
    return h("p", null, "The API cannot reach Redis, so nothing is polled, recorded or delivered now. What was "
      + "accepted goes on when Redis is back. This page looks again every 5 s.");
  }
  return error instanceof Silent
    ? h("p", null, "Is pollerd running, and this computer connected? This page looks again every 5 s.") : null;
}

async function keepFresh() {
  for (;;) {
    await pause(1000);
    await visible();
    if (current && Date.now() - current.last >= REFRESH_MS && !document.querySelector("dialog")) {
      await refresh(current.mine);
    }
  }
}

let settling = null;
listen((events) => {
  drawHearing();
  if (!events.length || settling || !current) return;
  settling = setTimeout(() => {
    settling = null;
    if (!document.querySelector("dialog")) refresh(current.mine);
  }, SETTLE_MS);
});

// Keys.

function help() {
  const rows = [
    ["/", "Search"], ["g then a letter", ""],
    ...pages.filter(isShown).map((page) => [`g ${page.key}`, page.name]),
    ["j, k", "The next row, the one before"], ["Enter", "Open it"], ["r", "Look again"],
    ["Esc", "Close, or leave the field"], ["?", "This list"],
  ];
  dialog({
    title: "Shortcuts", submit: "Close", last: true,
    body: h("dl", { class: "keys" }, rows.map(([keys, text]) =>
      h("div", null, h("dt", null, keys.split(" ").map((key) => key.length < 6 ? h("kbd", null, key) : key)), h("dd", null, text)))),
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
      show(find("#main"), failure(error), trouble(error));
      await pause(REFRESH_MS);
    }
  }
  window.addEventListener("hashchange", open);
  open();
  follow();
  keepFresh();
  const audit = pages.find((page) => page.path === "audit");
  audit.hides = !(await maybe("/v1/audit?limit=1").catch(() => null));
  if (!audit.hides) drawNav();
}

start();
