// The audit log: who changed what.

import { api, at, collect, endpointLink, may, maybe, paymentLink } from "./api.js";
import { h } from "./dom.js";
import { age, excerpt, facts, head, id, pager, table } from "./parts.js";
import { searchSources } from "./query.js";
import { dayOf, place, plain, timeOfDay } from "./words.js";

/** The names of changed objects by ID; `null` when the object no longer exists. */
const names = new Map();
const KNOWN_MAX = 2000;

/** The name of an endpoint, now or at the time of the change. */
const endpointName = (endpoint) => endpoint && (endpoint.name ?? place(endpoint.url));

async function learnEndpoints(ids) {
  if (!may("endpoints:read")) return;
  await Promise.all(ids.map(async (one) => {
    names.set(one, endpointName(await maybe(`v1/endpoints/${encodeURIComponent(one)}`)) ?? null);
  }));
}

/** Names deliveries by payment and recipient. */
async function learnDeliveries(ids) {
  if (!may("deliveries:read")) return;
  await Promise.all(ids.map(async (one) => {
    const delivery = await maybe(`v1/deliveries/${encodeURIComponent(one)}`);
    if (!delivery) {
      names.set(one, null);
      return;
    }
    const endpoint = delivery.url || !may("endpoints:read") ? null : await maybe(`v1/endpoints/${encodeURIComponent(delivery.endpoint)}`);
    names.set(one, `${delivery.source} to ${endpointName(endpoint) ?? place(delivery.url ?? delivery.endpoint)}`);
  }));
}

async function learnKeys(ids) {
  if (ids.length === 0 || !may("keys:manage")) return;
  const { data } = await api("v1/keys");
  for (const one of ids) names.set(one, data.find((key) => key.id === one)?.name ?? null);
}

async function learnPayments(ids) {
  if (ids.length === 0 || !may("watches:read")) return;
  const found = await searchSources(ids);
  for (const one of ids) names.set(one, found.find((watch) => watch.source === one)?.order ?? null);
}

/** Reads the names of targets whose entries do not include one. */
async function learn(entries) {
  if (names.size > KNOWN_MAX) names.clear();
  const unknown = (kind) => [...new Set(entries.filter((entry) => entry.target?.kind === kind && !entry.target.name && !names.has(entry.target.id))
    .map((entry) => entry.target.id))];
  await Promise.all([
    learnEndpoints(unknown("endpoint")), learnDeliveries(unknown("delivery")), learnKeys(unknown("key")), learnPayments(unknown("watch")),
  ]);
}

/** The name of the changed object; for a removed endpoint the name in the entry. */
function nameOf({ target, before, after }) {
  if (!target?.id) return "";
  return target.name ?? names.get(target.id) ?? (target.kind === "endpoint" ? endpointName([before, after].find((one) => one?.url)) : null) ?? null;
}

function link(entry) {
  const { kind, id: name } = entry.target ?? {};
  const account = entry.account;
  if (!name) return null;
  return {
    watch: () => paymentLink({ source: name, account, kind: null }),
    endpoint: () => endpointLink(name), lane: () => "#/lanes", key: () => "#/keys",
    delivery: () => "#/deliveries", suppression: () => "#/mail",
  }[kind]?.() ?? null;
}

const text = (value) => value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value, null, 1);

function more(entry) {
  if (!entry.before && !entry.after && !entry.request) return null;
  return h("details", { "data-key": `audit ${entry.id}` }, h("summary", null, "Before and after"),
    facts([["ID", entry.target?.id && id(entry.target.id)], ["Before", excerpt(text(entry.before))], ["After", excerpt(text(entry.after))],
      ["Request", entry.request && id(entry.request)], ["IP address", entry.address]]));
}

/** Splits `cancelWatch` into `cancel watch`. */
const apart = (action) => plain(action.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));

/** The name of the target, with its ID when it differs. */
function target(entry) {
  const { id: its = "" } = entry.target ?? {};
  const name = nameOf(entry);
  const href = link(entry);
  const shown = name ?? id(its);
  return [
    href ? h("a", { href, title: its, "data-key": `of ${entry.id}` }, shown) : h("span", { title: its }, shown),
    name && name !== its && h("span", { class: "soft small line id" }, its),
  ];
}

/** The list of changes, newest first. */
export async function auditPage({ query, stop }) {
  const cursor = query.get("cursor");
  const wanted = Object.fromEntries(["by", "action", "target", "account"].map((name) => [name, query.get(name)]));
  const page = await collect("v1/audit", { ...wanted, limit: 50, cursor }, { stop });
  await learn(page.data);
  const filters = Object.entries(wanted).filter(([, value]) => value).map(([name, value]) => `${name} ${value}`);
  return [
    head("Audit log", { note: "All changes with caller, IP address, and values before and after." }),
    filters.length > 0 && h("p", null, filters.join(", "), " ", h("a", { href: "#/audit" }, "Show all")),
    table("Changes", [
      { name: "Time", cell: (entry) => h("span", { title: `${dayOf(entry.at)}, ${timeOfDay(entry.at)}` }, age(entry.at)) },
      { name: "Caller", why: true, cell: (entry) => [
        h("a", { href: at("#/audit", { by: entry.by }), title: "Show all changes by this caller", "data-key": `by ${entry.id}` }, entry.by),
        entry.role && entry.role !== entry.by && h("span", { class: "soft wide" }, ` ${entry.role}`)] },
      { name: "Action", why: true, cell: (entry) => [apart(entry.action),
        entry.refused && h("span", { class: "careful" }, ` refused: ${plain(entry.refused)}`)] },
      { name: "Target", why: true, whole: true, cell: target },
      { name: "Account", wide: true, cell: (entry) => h("span", { class: "soft" }, entry.account) },
      { name: "IP address", wide: true, cell: (entry) => h("span", { class: "id soft" }, entry.address) },
    ], page.data, { nothing: "Changes made through the API, the console or pollerctl appear here.", below: more }),
    pager({ ...page, cursor, href: (next) => at("#/audit", { ...wanted, cursor: next }) }),
  ];
}
