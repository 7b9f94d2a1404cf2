// Who has changed what.

import { api, at, collect, endpointLink, may, maybe, orderLink, paymentLink } from "./api.js";
import { h } from "./dom.js";
import { age, excerpt, facts, head, id, pager, table } from "./parts.js";
import { searchSources } from "./query.js";
import { dayOf, place, plain, timeOfDay } from "./words.js";

/** What the targets of changes are called, by their IDs: `null` for one that is gone. */
const names = new Map();
const KNOWN_MAX = 2000;

/** How an endpoint is called that is read, or was when it was changed. */
const endpointName = (endpoint) => endpoint && (endpoint.name ?? place(endpoint.url));

async function learnEndpoints(ids) {
  if (!may("endpoints:read")) return;
  await Promise.all(ids.map(async (one) => {
    names.set(one, endpointName(await maybe(`v1/endpoints/${encodeURIComponent(one)}`)) ?? null);
  }));
}

/** A delivery is called by the payment and the recipient. */
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

/** Learns what the targets of changes are called that do not say it themselves. */
async function learn(entries) {
  if (names.size > KNOWN_MAX) names.clear();
  const unknown = (kind) => [...new Set(entries.filter((entry) => entry.target?.kind === kind && !entry.target.name && !names.has(entry.target.id))
    .map((entry) => entry.target.id))];
  await Promise.all([
    learnEndpoints(unknown("endpoint")), learnDeliveries(unknown("delivery")), learnKeys(unknown("key")), learnPayments(unknown("watch")),
  ]);
}

/** What the target of a change is called; of one that is gone, what the change itself says. */
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
    order: () => orderLink(name, account), endpoint: () => endpointLink(name), lane: () => "#/lanes", key: () => "#/keys",
    delivery: () => "#/deliveries", suppression: () => "#/mail",
  }[kind]?.() ?? null;
}

const text = (value) => value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value, null, 1);

function more(entry) {
  if (!entry.before && !entry.after && !entry.request) return null;
  return h("details", { "data-key": `audit ${entry.id}` }, h("summary", null, "Before and after"),
    facts([["Id", entry.target?.id && id(entry.target.id)], ["Before", excerpt(text(entry.before))], ["After", excerpt(text(entry.after))],
      ["Request", entry.request && id(entry.request)], ["Address", entry.address]]));
}

/** `cancelWatch` as words. */
const apart = (action) => plain(action.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));

/** The target by its name, with its ID where that is another one. */
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

/** The list of changes, the newest first. */
export async function auditPage({ query, stop }) {
  const cursor = query.get("cursor");
  const wanted = Object.fromEntries(["by", "action", "target", "account"].map((name) => [name, query.get(name)]));
  const page = await collect("v1/audit", { ...wanted, limit: 50, cursor }, { stop });
  await learn(page.data);
  const asked = Object.entries(wanted).filter(([, value]) => value).map(([name, value]) => `${name} ${value}`);
  return [
    head("Audit", { note: "Every change: by whom, from where, what, before and after." }),
    asked.length > 0 && h("p", null, asked.join(", "), " ", h("a", { href: "#/audit" }, "Show all")),
    table("Changes", [
      { name: "When", cell: (entry) => h("span", { title: `${dayOf(entry.at)}, ${timeOfDay(entry.at)}` }, age(entry.at)) },
      { name: "Who", why: true, cell: (entry) => [
        h("a", { href: at("#/audit", { by: entry.by }), title: "What else they did", "data-key": `by ${entry.id}` }, entry.by),
        entry.role && entry.role !== entry.by && h("span", { class: "soft wide" }, ` ${entry.role}`)] },
      { name: "What", why: true, cell: (entry) => [apart(entry.action),
        entry.refused && h("span", { class: "careful" }, ` refused: ${plain(entry.refused)}`)] },
      { name: "Of", why: true, cell: target },
      { name: "Account", wide: true, cell: (entry) => h("span", { class: "soft" }, entry.account) },
      { name: "From", wide: true, cell: (entry) => h("span", { class: "id soft" }, entry.address) },
    ], page.data, { nothing: "Nobody has changed anything yet.", below: more }),
    pager({ ...page, cursor, href: (next) => at("#/audit", { ...wanted, cursor: next }) }),
  ];
}
