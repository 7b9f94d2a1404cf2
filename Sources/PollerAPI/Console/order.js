// One order: every attempt to pay it, in one timeline.

import { Refused, api, at, may, maybe, paymentLink } from "./api.js";
import { copyButton } from "./dialogs.js";
import { h } from "./dom.js";
import { act, badge, card, facts, head, sum, paymentBadge, watchBadge } from "./parts.js";
import { lookNow, read, retry } from "./payment.js";
import { back } from "./payments.js";
import { next, receivers, timeline } from "./timeline.js";
import { counted, isBlind, moment, money, payments, plain, sentence, zone } from "./words.js";

/** Tries whose timeline is read and shown; of more only those that matter. */
const TOLD_MAX = 4;
/** Tries that are listed at once. */
const LISTED = 8;
/** Payments that have ended without money. */
const ENDED = new Set(["failed", "expired", "cancelled"]);

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

/** The events of the order itself, as entries of its timeline. */
const entriesOf = (events) => events.map((event) => {
  const word = event.type.split(".")[1] ?? event.type;
  return {
    at: event.observed.polled_at, kind: "change", tone: tones[word] ?? "quiet", of: "the order", detail: `${event.type}, event ${event.seq}`,
    text: word === "paid_twice" ? "The order is paid more than once." : sentence(`the order: ${(payments[event.payment?.state]?.[0] ?? plain(word)).toLowerCase()}`),
  };
});

/** Which of many tries matter: those with money, then those that may still bring some, then the newest. */
function chosen(order) {
  const rank = ({ source, payment }) => {
    if (source === order.paid_by) return 0;
    if (order.also_paid_by?.includes(source)) return 1;
    return ENDED.has(payment.state) ? 3 : 2;
  };
  const ranked = order.members.map((member, index) => ({ member, index, rank: rank(member) }))
    .toSorted((a, b) => a.rank - b.rank || b.index - a.index);
  return new Set(ranked.slice(0, TOLD_MAX).map(({ member }) => member.source));
}

function tools(tries, refresh) {
  const open = tries.filter(({ watch }) => watch.state === "open");
  return open.length > 0 && may("watches:poll") && act("Look now", {
    run: () => lookNow(open.map(({ watch }) => watch)), then: refresh, said: (answer) => answer.said,
  });
}

/** One try in the list: its number, its source, and what is true of it. */
function row(order, member, number, tried, twice) {
  const toRefund = twice?.isDue && order.also_paid_by.includes(member.source);
  return h("li", null,
    h("span", { class: "soft" }, number),
    h("a", { class: "id grow", href: paymentLink({ ...member, account: order.account }), title: member.source, "data-key": member.source }, member.source),
    member.source === order.paid_by && badge("pays the order", "good"), toRefund && badge("to refund", "bad"),
    tried ? watchBadge(tried.watch) : paymentBadge(member.payment));
}

/** All tries, the first ones at once. */
function triesCard(order, tries, twice) {
  const rows = order.members.map((member, index) =>
    ({ member, item: row(order, member, index + 1, tries.find(({ watch }) => watch.source === member.source), twice) }));
  const isShown = ({ member }, index) => rows.length <= LISTED || tries.some(({ watch }) => watch.source === member.source) || index >= rows.length - 2;
  const [shown, hidden] = [rows.filter(isShown), rows.filter((one, index) => !isShown(one, index))];
  return card("Tries to pay it", h("ol", { class: "rows tries" }, shown.map(({ item }) => item)),
    hidden.length > 0 && h("details", { "data-key": "tries" }, h("summary", null, `${counted(hidden.length, "other try", "other tries")}`),
      h("ol", { class: "rows tries" }, hidden.map(({ item }) => item))));
}

/** What happens next with each try; of those that have ended nothing does. */
function steps(tries, isOne) {
  const open = tries.filter(({ watch }) => isOne || watch.state === "open" || watch.closed_reason === "dead");
  if (open.length === 0) return h("p", { class: "empty" }, "No try is open: nothing more is polled.");
  return open.map((one) => {
    const lines = next(one.watch, one.told, one.deliveries);
    return isOne ? lines : [h("p", { class: "soft small" }, `Try ${one.number}`), lines];
  });
}

/** Everything about the tries that matter, in their order. */
async function readTries(order) {
  const isChosen = chosen(order);
  const members = order.members.map((member, index) => ({ ...member, number: index + 1 })).filter(({ source }) => isChosen.has(source));
  const found = await Promise.all(members.map(async (member) => {
    const watch = await maybe(at(`v1/watches/${encodeURIComponent(member.source)}`, { account: order.account, kind: member.kind }));
    return watch && { ...await read(watch), number: member.number };
  }));
  return found.filter(Boolean).toSorted((a, b) => a.number - b.number);
}

/** The page of one order. */
export async function orderPage({ id, query, refresh }) {
  const order = await get(id, query.get("account"));
  if (!order) {
    return [head(`Order ${id}`, { back: back() }),
      h("p", { class: "failure" }, "No such order is known here. ",
        h("a", { href: `#/payments?q=${encodeURIComponent(id)}` }, "Look for it in all accounts"))];
  }
  const [tries, told] = await Promise.all([
    readTries(order), maybe(at(`v1/orders/${encodeURIComponent(order.order)}/events`, { account: order.account })),
  ]);
  const count = order.members.length;
  const isOne = count === 1;
  const entries = tries.flatMap((one) => one.entries.map((entry) =>
    isOne ? entry : { ...entry, of: `try ${one.number}`, source: one.watch.source }));
  // What is told of the order after what it was found from.
  entries.push(...entriesOf(told?.data ?? []));
  entries.sort((a, b) => new Date(a.at) - new Date(b.at));
  const { payment } = order;
  const twice = surplus(order);
  // What is said of an order is what its tries have shown: of one that cannot be seen that is old.
  const unseen = tries.find(({ watch }) => watch.last_error && (watch.state === "open" || isBlind(watch)));
  const given = Object.assign({}, ...tries.map(({ watch }) => watch.metadata ?? {}));
  const deliveries = tries.flatMap((one) => one.deliveries);
  const note = count > tries.length ? `the ${tries.length} tries that matter of ${count}` : `${counted(count, "try", "tries")} to pay it`;
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
          "Somebody has to refund the try that is marked, unless the cluster is told to do that by itself.")), steps(tries, isOne)),
        card({ title: "Timeline", note: `${note}, in your time (${zone()})` }, timeline(entries, deliveries))),
      h("div", { class: "aside" },
        triesCard(order, tries, twice),
        card("Who is told", receivers(deliveries, (delivery) => retry(delivery, refresh))),
        card("About it", facts([
          ["Order", [order.order, copyButton(order.order)]], ["Account", order.account], ["First seen", moment(order.created_at)],
          ["Arrived", money(payment.amount_received, payment.currency)],
          ["Gone back", payment.amount_returned ? money(payment.amount_returned, payment.currency) : null],
        ])),
        Object.keys(given).length > 0 && card("Said by the shop", facts(Object.entries(given))))),
  ];
}
