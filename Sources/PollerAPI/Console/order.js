// The page of one order: all attempts to pay it, in one timeline.

import { Refused, api, at, may, maybe, paymentLink } from "./api.js";
import { copyButton } from "./dialogs.js";
import { h } from "./dom.js";
import { act, badge, card, facts, head, sum, paymentBadge, watchBadge } from "./parts.js";
import { pollNow, read, retry } from "./payment.js";
import { back } from "./payments.js";
import { next, recipients, timeline } from "./timeline.js";
import { counted, isBlind, moment, money, payments, plain, sentence, zone } from "./words.js";

/** The number of attempts whose timeline is shown; the most important ones are chosen. */
const SHOWN_MAX = 4;
/** The number of attempts listed without expanding. */
const LISTED = 8;
/** Payment states without money. */
const ENDED = new Set(["failed", "expired", "cancelled"]);

async function get(order, account) {
  try {
    return await api(at(`v1/orders/${encodeURIComponent(order)}`, { account }));
  } catch (error) {
    if (error instanceof Refused && [400, 404].includes(error.status)) return null;
    throw error;
  }
}

/** The surplus of an order that was paid more than once. */
function surplus({ payment, also_paid_by: also }) {
  if (!also?.length || payment.amount === undefined) return null;
  const kept = (payment.amount_received ?? 0) - (payment.amount_returned ?? 0);
  const format = (amount) => money(amount, payment.currency);
  const more = kept - payment.amount;
  return {
    isDue: more > 0,
    text: `${format(payment.amount_received)} received for ${format(payment.amount)}. ${more > 0 ? `Refund ${format(more)}.` : "The surplus was returned."}`,
  };
}

const tones = { paid_twice: "bad", paid: "good", failed: "bad", disputed: "bad", refunded: "careful" };

/** Timeline entries of the order's own events. */
const entriesOf = (events) => events.map((event) => {
  const word = event.type.split(".")[1] ?? event.type;
  return {
    at: event.observed.polled_at, kind: "change", tone: tones[word] ?? "quiet", of: "order", detail: `${event.type}, event ${event.seq}`,
    text: word === "paid_twice" ? "The order was paid more than once." : sentence(`order state: ${(payments[event.payment?.state]?.[0] ?? plain(word)).toLowerCase()}`),
  };
});

/** The most important attempts: those with money, then those that can still succeed, then the newest. */
function chosen(order) {
  const rank = ({ source, payment }) => {
    if (source === order.paid_by) return 0;
    if (order.also_paid_by?.includes(source)) return 1;
    return ENDED.has(payment.state) ? 3 : 2;
  };
  const ranked = order.members.map((member, index) => ({ member, index, rank: rank(member) }))
    .toSorted((a, b) => a.rank - b.rank || b.index - a.index);
  return new Set(ranked.slice(0, SHOWN_MAX).map(({ member }) => member.source));
}

function tools(attempts, refresh) {
  const open = attempts.filter(({ watch }) => watch.state === "open");
  return open.length > 0 && may("watches:poll") && act("Poll now", {
    run: () => pollNow(open.map(({ watch }) => watch)), then: refresh, said: (answer) => answer.said,
  });
}

/** One attempt in the list: number, source and state. */
function row(order, member, number, attempt, twice) {
  const toRefund = twice?.isDue && order.also_paid_by.includes(member.source);
  return h("li", null,
    h("span", { class: "soft" }, number),
    h("a", { class: "id grow", href: paymentLink({ ...member, account: order.account }), title: member.source, "data-key": member.source }, member.source),
    member.source === order.paid_by && badge("Paid the order", "good"), toRefund && badge("To refund", "bad"),
    attempt ? watchBadge(attempt.watch) : paymentBadge(member.payment));
}

/** The list of all attempts; less important ones are collapsed. */
function attemptsCard(order, attempts, twice) {
  const rows = order.members.map((member, index) =>
    ({ member, item: row(order, member, index + 1, attempts.find(({ watch }) => watch.source === member.source), twice) }));
  const isShown = ({ member }, index) => rows.length <= LISTED || attempts.some(({ watch }) => watch.source === member.source) || index >= rows.length - 2;
  const [shown, hidden] = [rows.filter(isShown), rows.filter((one, index) => !isShown(one, index))];
  return card("Payment attempts", h("ol", { class: "rows tries" }, shown.map(({ item }) => item)),
    hidden.length > 0 && h("details", { "data-key": "tries" }, h("summary", null, `${counted(hidden.length, "other attempt", "other attempts")}`),
      h("ol", { class: "rows tries" }, hidden.map(({ item }) => item))));
}

/** The next steps of each open attempt. */
function steps(attempts, isOne) {
  const open = attempts.filter(({ watch }) => isOne || watch.state === "open" || watch.closed_reason === "dead");
  if (open.length === 0) return h("p", { class: "empty" }, "No attempt is open, so polling has stopped.");
  return open.map((one) => {
    const lines = next(one.watch, one.explained, one.deliveries);
    return isOne ? lines : [h("p", { class: "soft small" }, `Attempt ${one.number}`), lines];
  });
}

/** Reads the most important attempts, in the order's sequence. */
async function readAttempts(order) {
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
      h("p", { class: "failure" }, "No order with this number in this account. ",
        h("a", { href: `#/payments?q=${encodeURIComponent(id)}` }, "Search all accounts"))];
  }
  const [attempts, events] = await Promise.all([
    readAttempts(order), maybe(at(`v1/orders/${encodeURIComponent(order.order)}/events`, { account: order.account })),
  ]);
  const count = order.members.length;
  const isOne = count === 1;
  const entries = attempts.flatMap((one) => one.entries.map((entry) =>
    isOne ? entry : { ...entry, of: `payment attempt ${one.number}`, source: one.watch.source }));
  // Appended, so that the order's events follow their causes when times are equal.
  entries.push(...entriesOf(events?.data ?? []));
  entries.sort((a, b) => new Date(a.at) - new Date(b.at));
  const { payment } = order;
  const twice = surplus(order);
  // The state of the order is outdated when a poll of an attempt failed.
  const unseen = attempts.find(({ watch }) => watch.last_error && (watch.state === "open" || isBlind(watch)));
  const given = Object.assign({}, ...attempts.map(({ watch }) => watch.metadata ?? {}));
  const deliveries = attempts.flatMap((one) => one.deliveries);
  const note = count > attempts.length ? `${attempts.length} of ${count} payment attempts` : counted(count, "payment attempt", "payment attempts");
  return [
    head(`Order ${order.order}`, { back: back(), tools: tools(attempts, refresh) }),
    h("section", { class: "outcome", "aria-label": "Outcome" },
      payment.amount !== undefined && h("p", { class: "amount" }, sum(payment)),
      order.also_paid_by?.length ? badge("Paid twice", "bad") : paymentBadge(payment),
      h("p", { class: "grow" }, twice?.text ?? [payments[payment.state]?.[2], order.also_paid_by?.length && "It was paid more than once. Refund the surplus.",
        unseen && `This may be outdated, because the last poll${isOne ? "" : " of an attempt"} failed: ${sentence(unseen.watch.last_error)}`]
        .filter(Boolean).join(" "))),
    h("div", { class: "columns" },
      h("div", null,
        card("Next steps", twice?.isDue && h("ul", { class: "next" }, h("li", null,
          "Refund the attempt marked “To refund”, unless automatic refunds are configured.")), steps(attempts, isOne)),
        card({ title: "Timeline", note: `${note}, times in ${zone()}` }, timeline(entries, deliveries))),
      h("div", { class: "aside" },
        attemptsCard(order, attempts, twice),
        card("Recipients", recipients(deliveries, (delivery) => retry(delivery, refresh))),
        card("Details", facts([
          ["Order", [order.order, copyButton(order.order)]], ["Account", order.account], ["Created", moment(order.created_at)],
          ["Received", payment.currency && money(payment.amount_received, payment.currency)],
          ["Returned", payment.amount_returned ? money(payment.amount_returned, payment.currency) : null],
        ])),
        Object.keys(given).length > 0 && card("Metadata", facts(Object.entries(given))))),
  ];
}
