// One order: every try to pay it, in one story.

import { Refused, api, at, maybe, paymentLink } from "./api.js";
import { h } from "./dom.js";
import { badge, card, facts, head, paymentBadge, sum } from "./parts.js";
import { read } from "./payment.js";
import { timeline } from "./timeline.js";
import { counted, moment, money, payments } from "./words.js";

/** Tries whose story is told here; a customer gives up long before. */
const TRIES_MAX = 12;

async function get(order, account) {
  try {
    return await api(at(`/v1/orders/${encodeURIComponent(order)}`, { account }));
  } catch (error) {
    if (error instanceof Refused && [400, 404].includes(error.status)) return null;
    throw error;
  }
}

/** The page of one order. */
export async function orderPage({ id, query }) {
  const order = await get(id, query.get("account"));
  if (!order) {
    return [head(`Order ${id}`, { back: ["#/payments", "Payments"] }),
      h("p", { class: "failure" }, "No such order is known here. ",
        h("a", { href: `#/payments?q=${encodeURIComponent(id)}` }, "Look for it in all accounts"))];
  }
  const found = await Promise.all(order.members.slice(0, TRIES_MAX).map((one) =>
    maybe(at(`/v1/watches/${encodeURIComponent(one.source)}`, { account: order.account, kind: one.kind }))));
  const tries = await Promise.all(found.filter(Boolean).map(read));
  tries.sort((a, b) => new Date(a.watch.created_at) - new Date(b.watch.created_at));
  const isOne = tries.length === 1;
  const entries = tries.flatMap((one, index) => one.entries.map((entry) =>
    isOne ? entry : { ...entry, of: `try ${index + 1}` }));
  entries.sort((a, b) => new Date(a.at) - new Date(b.at));
  const { payment } = order;
  const twice = order.also_paid_by?.length ? "It was paid more than once: money has to go back." : "";
  return [
    head(`Order ${order.order}`, { back: ["#/payments", "Payments"] }),
    h("section", { class: "outcome", "aria-label": "Outcome" },
      h("p", { class: "amount" }, sum(payment)), paymentBadge(payment),
      h("p", { class: "grow" }, [payments[payment.state]?.[2], twice].filter(Boolean).join(" "))),
    h("div", { class: "columns" },
      h("div", null, card({ title: "What became of it", note: `${counted(tries.length, "try", "tries")} to pay it` }, timeline(entries))),
      h("div", { class: "aside" },
        card("Tries to pay it", h("ol", { class: "rows" }, tries.map(({ watch }, index) => h("li", null,
          h("span", { class: "soft" }, index + 1),
          h("a", { class: "id grow", href: paymentLink(watch), title: watch.source, "data-key": watch.source }, watch.source),
          watch.source === order.paid_by && badge("counts", "good"), paymentBadge(watch.payment, watch.status))))),
        card("About it", facts([
          ["Order", order.order], ["Account", order.account], ["First seen", moment(order.created_at)],
          ["Arrived", money(payment.amount_received, payment.currency)],
          ["Gone back", payment.amount_returned ? money(payment.amount_returned, payment.currency) : null],
        ])))),
  ];
}
