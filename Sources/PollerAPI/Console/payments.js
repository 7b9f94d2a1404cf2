// The list of payments: search, filters, CSV download and bulk actions.

import { at, download, may, orderLink, paymentLink } from "./api.js";
import { actOnAll } from "./bulk.js";
import { h } from "./dom.js";
import { dates, summary } from "./found.js";
import { act, age, badge, cut, head, id, pager, sum, table, tabs, watchBadge } from "./parts.js";
import { search } from "./query.js";
import { method } from "./words.js";

const filters = [
  ["", "All"], ["state=open", "Open"], ["payment=authorised", "Authorised"], ["payment=paid", "Paid"], ["payment=failed", "Failed"],
  ["payment=disputed", "Disputed"],
  ["state=open error=any", "Failing"], ["state=quarantined", "Quarantine"],
];
/** A tab that leads to orders: an order is paid twice, not one of its payments. */
const PAID_TWICE = ["#/orders", "Paid twice", "#/orders?paid_twice=1"];

const link = (q, cursor) => {
  const query = new URLSearchParams();
  if (q) query.set("q", q);
  if (cursor) query.set("cursor", cursor);
  return `#/payments${query.size ? `?${query}` : ""}`;
};

/** The customer from the metadata, if the shop set one. */
export const customer = ({ metadata = {} }) =>
  metadata.customer ?? metadata.customer_name ?? metadata.name ?? metadata.email ?? "";

/** The last list of payments with its search, for the back link of a payment. */
let [last, lastName] = ["#/payments", "Payments"];
export const back = () => [last, lastName];

/** Suggestions for a search without results. */
function nothingFound(q) {
  if (!q) return "Watched payments appear here. Add one with pollerctl enqueue or POST /v1/watches.";
  const example = (text, index = 0) => [index ? ", " : " ", h("a", { href: link(text) }, text)];
  const cents = /(?:^|\s)amount([<>!]?=|[<>])(\d+)(?=\s|$)/.exec(q);
  return [
    h("p", null, "No payments match this search."),
    cents && h("p", null, `${cents[0].trim()} is in the smallest currency unit. Did you mean`, example(q.replace(cents[0].trim(), `amount${cents[1]}${cents[2]}.00`))),
    h("p", null, "Enter sources and charges with their full ID. Enter orders, customers and email addresses as ",
      "words or beginnings of words. Filters:",
      ["payment=paid", "amount>=10.00", "created<2d", "error=any"].map(example), "."),
  ];
}

function paymentTable(rows, nothing) {
  return table("Payments", [
    { name: "Order", cell: (watch) => [watch.order ? cut(watch.order, true) : id(watch.source), h("span", { class: "soft narrow small" }, customer(watch))] },
    { name: "Amount", n: true, cell: (watch) => sum(watch.payment) },
    { name: "Payment", cell: watchBadge },
    { name: "Customer", wide: true, cell: (watch) => cut(customer(watch), true) },
    { name: "Method", wide: true, cell: (watch) => method(watch.payment?.method ?? watch.kind) },
    { name: "Account", wide: true, cell: (watch) => h("span", { class: "soft" }, watch.account) },
    { name: "Source", wide: true, spare: true, cell: (watch) => h("span", { class: "id soft cut", title: watch.source }, watch.source) },
    { name: "Last polled", wide: true, cell: (watch) => [
      age(watch.last_polled_at, "not yet"), watch.last_error && [" ", badge(h("span", { class: "hidden" }, "failed"), watch.state === "open" ? "careful" : "bad", watch.last_error)],
    ] },
    { name: "Age", n: true, said: true, cell: (watch) => age(watch.created_at, "–", "old") },
  ], rows, { nothing, link: paymentLink, key: (watch) => `${watch.account} ${watch.source}` });
}

/** The page to open when a search finds one payment or one order. */
function target({ data, next }, q) {
  if (next || data.length === 0) return null;
  if (data.length === 1) return paymentLink(data[0]);
  const order = data[0].order;
  const isOne = order && data.every((watch) => watch.order === order && watch.account === data[0].account);
  return isOne && q.replace(/^order=/, "").replace(/^"(.*)"$/, "$1") === order ? orderLink(order, data[0].account) : null;
}

/** The list, with a search. */
export async function paymentsPage({ query, refresh, stop }) {
  const q = query.get("q") ?? "";
  const cursor = query.get("cursor");
  let [page, wrong] = [{ data: [], next: null }, null];
  try {
    page = await search(q, cursor, { stop });
  } catch (error) {
    if (error.status !== 400) throw error;
    wrong = error;
  }
  [last, lastName] = [link(q, cursor), q ? "Search results" : "Payments"];
  if (query.get("go")) {
    location.replace(target(page, q) ?? link(q));
    return null;
  }
  const isFound = page.data.length > 0;
  const acts = q && page.data.length > 0 && (may("watches:poll") || may("watches:write"));
  return [
    head("Payments", {
      note: q ? null : "Newest first",
      tools: [
        isFound && act("Download CSV", {
          run: () => download(at("v1/watches", { q, format: "csv" }), "payments.csv"), key: "csv", title: "Download all results of this search",
        }),
        acts ? h("button", { type: "button", "data-key": "bulk", onclick: async () => { await actOnAll(q); refresh(); } }, "Bulk action …") : null,
      ],
    }),
    h("div", { class: "bar" }, tabs("Which", [...filters.map(([value, text]) => [value, text, link(value)]), PAID_TWICE], q),
      q && !filters.some(([value]) => value === q) && h("p", { class: "found" }, "Results for ", h("code", null, q), " ",
        h("a", { href: "#/payments" }, "Show all"))),
    h("div", { class: "bar" }, dates(q, (text) => { location.hash = link(text).slice(1); }), isFound && !wrong && summary(q)),
    wrong ? h("p", { class: "failure bad", role: "alert" }, wrong.detail) : paymentTable(page.data, nothingFound(q)),
    pager({ ...page, cursor, href: (next) => link(q, next) }),
  ];
}
