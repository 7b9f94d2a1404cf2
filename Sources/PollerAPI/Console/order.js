// One order: every try to pay it, in one story.

import { Refused, api, at, may, maybe, paymentLink } from "./api.js";
import { copyButton } from "./dialogs.js";
import { h } from "./dom.js";
import { act, badge, card, facts, head, sum, paymentBadge, watchBadge } from "./parts.js";
import { lookNow, read, retry } from "./payment.js";
import { back } from "./payments.js";
import { next, receivers, timeline } from "./timeline.js";
import { counted, isBlind, moment, money, payments, plain, sentence, zone } from "./words.js";

/** Tries whose story is told here; a customer gives up long before. */
const TRIES_MAX = 12;

async function get(order, account) {
  try {
    return await api(at(`v1/orders/${encodeURIComponent(order)}`, { account }));
  } catch (error) {
    if (error instanceof Refused && [400, 404].includes(error.status)) return null;
    throw error;
  }
}

/** What has arrived more than once: how much is there, of how much, and what has to go back. */
function surplus({ payment, also_paid_by: also }) {
  if (!also?.length || payment.amount === undefined) return null;
  const kept = (payment.amount_received ?? 0) - (payment.amount_returned ?? 0);
  const said = (amount) => money(amount, payment.currency);
  const more = kept - payment.amount;
  return {
    isDue: more > 0,
    text: `${said(payment.amount_received)} arrived for ${said(payment.amount)}: ${more > 0 ? `${said(more)} has to go back.` : "the surplus has gone back."}`,
  };
}

const tones = { paid_twice: "bad", paid: "good", failed: "bad", disputed: "bad", refunded: "careful" };

/** What was told of the order itself, as entries of its story. */
const entriesOf = (events) => events.map((event) => {
  const word = event.type.split(".")[1] ?? event.type;
  return {
    at: event.observed.polled_at, kind: "change", tone: tones[word] ?? "quiet", of: "the order", detail: `${event.type}, event ${event.seq}`,
    text: word === "paid_twice" ? "The order is paid more than once." : sentence(`the order: ${(payments[event.payment?.state]?.[0] ?? plain(word)).toLowerCase()}`),
  };
});

function badgeOf(order, { watch }, twice) {
  const its = twice?.isDue && order.also_paid_by.includes(watch.source);
  return [
    watch.source === order.paid_by && badge("pays the order", "good"), its && badge("to refund", "bad"), watchBadge(watch),
  ];
}

function tools(tries, refresh) {
  const open = tries.filter(({ watch }) => watch.state === "open");
  return open.length > 0 && may("watches:poll") && act("Look now", {
    run: () => lookNow(open.map(({ watch }) => watch)), then: refresh, said: (answer) => answer.said,
  });
}

/** The page of one order. */
export async function orderPage({ id, query, refresh }) {
  const order = await get(id, query.get("account"));
  if (!order) {
    return [head(`Order ${id}`, { back: back() }),
      h("p", { class: "failure" }, "No such order is known here. ",
        h("a", { href: `#/payments?q=${encodeURIComponent(id)}` }, "Look for it in all accounts"))];
  }
  const found = await Promise.all(order.members.slice(0, TRIES_MAX).map((one) =>
    maybe(at(`v1/watches/${encodeURIComponent(one.source)}`, { account: order.account, kind: one.kind }))));
  const [tries, told] = await Promise.all([
    Promise.all(found.filter(Boolean).map(read)),
    maybe(at(`v1/orders/${encodeURIComponent(order.order)}/events`, { account: order.account })),
  ]);
  tries.sort((a, b) => new Date(a.watch.created_at) - new Date(b.watch.created_at));
  const isOne = tries.length === 1;
  const entries = tries.flatMap((one, index) => one.entries.map((entry) =>
    isOne ? entry : { ...entry, of: `try ${index + 1}` }));
  // What is told of the order after what it was found from.
  entries.push(...entriesOf(told?.data ?? []));
  entries.sort((a, b) => new Date(a.at) - new Date(b.at));
  const { payment } = order;
  const twice = surplus(order);
  // What is said of an order is what its tries have shown: of one that cannot be seen that is old.
  const unseen = tries.find(({ watch }) => watch.last_error && (watch.state === "open" || isBlind(watch)));
  const given = Object.assign({}, ...tries.map(({ watch }) => watch.metadata ?? {}));
  const steps = tries.map((one, index) => [index + 1, next(one.watch, one.told, one.deliveries)]);
  return [
    head(`Order ${order.order}`, { back: back(), tools: tools(tries, refresh) }),
    h("section", { class: "outcome", "aria-label": "Outcome" },
      h("p", { class: "amount" }, sum(payment)),
      order.also_paid_by?.length ? badge("Paid twice", "bad") : paymentBadge(payment),
      h("p", { class: "grow" }, twice?.text ?? [payments[payment.state]?.[2], order.also_paid_by?.length && "It was paid more than once: money has to go back.",
        unseen && `${isOne ? "It" : "One of its tries"} cannot be seen, so this may be old: ${sentence(unseen.watch.last_error)}`]
        .filter(Boolean).join(" "))),
    h("div", { class: "columns" },
      h("div", null,
        card("What happens next", twice?.isDue && h("ul", { class: "next" }, h("li", null,
          "Somebody has to refund the try that is marked, unless the cluster is told to do that by itself.")),
        steps.map(([number, lines]) => isOne ? lines : [h("p", { class: "soft small" }, `Try ${number}`), lines])),
        card({ title: "What became of it", note: `${counted(tries.length, "try", "tries")} to pay it, in your time (${zone()})` }, timeline(entries))),
      h("div", { class: "aside" },
        card("Tries to pay it", h("ol", { class: "rows tries" }, tries.map((one, index) => h("li", null,
          h("span", { class: "soft" }, index + 1),
          h("a", { class: "id grow", href: paymentLink(one.watch), title: one.watch.source, "data-key": one.watch.source }, one.watch.source),
          badgeOf(order, one, twice))))),
        card("Who is told", receivers(tries.flatMap((one) => one.deliveries), (delivery) => retry(delivery, refresh))),
        card("About it", facts([
          ["Order", [order.order, copyButton(order.order)]], ["Account", order.account], ["First seen", moment(order.created_at)],
          ["Arrived", money(payment.amount_received, payment.currency)],
          ["Gone back", payment.amount_returned ? money(payment.amount_returned, payment.currency) : null],
        ])),
        Object.keys(given).length > 0 && card("Said by the shop", facts(Object.entries(given))))),
  ];
}
