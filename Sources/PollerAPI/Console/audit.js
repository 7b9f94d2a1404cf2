// Who has changed what.

import { at, collect, endpointLink, orderLink } from "./api.js";
import { h } from "./dom.js";
import { age, excerpt, facts, head, id, pager, table } from "./parts.js";
import { dayOf, plain, timeOfDay } from "./words.js";

function link(entry) {
  const { kind, id: name } = entry.target ?? {};
  const account = entry.account;
  if (!name) return null;
  return {
    watch: () => at(`#/payments/${encodeURIComponent(name)}`, { account: account === "default" ? null : account }),
    order: () => orderLink(name, account), endpoint: () => endpointLink(name), lane: () => "#/lanes", key: () => "#/keys",
  }[kind]?.() ?? null;
}

const text = (value) => value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value, null, 1);

function more(entry) {
  if (!entry.before && !entry.after && !entry.request) return null;
  return h("details", { "data-key": `audit ${entry.id}` }, h("summary", null, "Before and after"),
    facts([["Before", excerpt(text(entry.before))], ["After", excerpt(text(entry.after))],
      ["Request", entry.request && id(entry.request)], ["Address", entry.address]]));
}

/** `cancelWatch` as words. */
const apart = (action) => plain(action.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));

/** The list of changes, the newest first. */
export async function auditPage({ query, stop }) {
  const cursor = query.get("cursor");
  const wanted = Object.fromEntries(["by", "action", "target", "account"].map((name) => [name, query.get(name)]));
  const page = await collect("v1/audit", { ...wanted, limit: 50, cursor }, { stop });
  const asked = Object.entries(wanted).filter(([, value]) => value).map(([name, value]) => `${name} ${value}`);
  return [
    head("Audit", { note: "Every change: by whom, from where, what, before and after." }),
    asked.length > 0 && h("p", null, asked.join(", "), " ", h("a", { href: "#/audit" }, "Show all")),
    table("Changes", [
      { name: "When", cell: (entry) => h("span", { title: `${dayOf(entry.at)}, ${timeOfDay(entry.at)}` }, age(entry.at)) },
      { name: "Who", cell: (entry) => [
        h("a", { href: at("#/audit", { by: entry.by }), title: "What else they did", "data-key": `by ${entry.id}` }, entry.by),
        entry.role && entry.role !== entry.by && h("span", { class: "soft wide" }, ` ${entry.role}`)] },
      { name: "What", why: true, cell: (entry) => [apart(entry.action),
        entry.refused && h("span", { class: "careful" }, ` refused: ${plain(entry.refused)}`)] },
      { name: "Of", why: true, cell: (entry) => {
        const href = link(entry);
        const name = entry.target?.id ?? "";
        return href ? h("a", { href, class: "id", "data-key": `of ${entry.id}` }, name) : id(name);
      } },
      { name: "Account", wide: true, cell: (entry) => h("span", { class: "soft" }, entry.account) },
      { name: "From", wide: true, cell: (entry) => h("span", { class: "id soft" }, entry.address) },
    ], page.data, { nothing: "Nobody has changed anything yet.", below: more }),
    pager({ ...page, cursor, href: (next) => at("#/audit", { ...wanted, cursor: next }) }),
  ];
}
