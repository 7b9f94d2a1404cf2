// The page of one payment: outcome, next steps, timeline and actions.

import { Refused, api, at, may, maybe, named, orderLink, paymentLink, post, watchPath } from "./api.js";
import { copyButton } from "./dialogs.js";
import { h } from "./dom.js";
import { act, age, card, facts, head, id, paymentBadge, sum, watchBadge } from "./parts.js";
import { back } from "./payments.js";
import { dismissal } from "./quarantine.js";
import { findSource } from "./query.js";
import { deliveriesOf, next, reasonOf, recipients, timeline, timelineOf } from "./timeline.js";
import { closing, isBlind, method, moment, money, payments, plain, refunds, sentence, when, zone } from "./words.js";

/** Reads a watch with its explanation, deliveries and timeline. */
export async function read(watch) {
  const [explained, deliveries, entries] = await Promise.all([
    maybe(watchPath(watch, "explain")), deliveriesOf(watch), timelineOf(watch),
  ]);
  for (const one of deliveries) {
    one.accepted = entries.findLast((entry) => entry.accepted && entry.endpoint === one.delivery.endpoint);
    one.isOver = watch.state !== "open";
  }
  // Pending deliveries are in the card of recipients.
  return { watch, explained, deliveries, entries: entries.filter((entry) => entry.kind !== "ahead") };
}

/** Why a payment that is due now has to wait; null when it only waits for a worker. */
async function obstacle(watch) {
  const explained = await maybe(watchPath(watch, "explain")).catch(() => null);
  const isSoon = explained?.earliest_poll_at && new Date(explained.earliest_poll_at) - new Date(explained.due_at) <= 2000;
  return explained?.place === "waiting" && !isSoon ? explained.reasons[0] ?? null : null;
}

/** Requests polls and says when they can run. */
export async function pollNow(watches) {
  await Promise.all(watches.map((watch) => post(watchPath(watch, "poll"))));
  const whys = await Promise.all(watches.map(obstacle));
  const why = whys.find(Boolean);
    if (!why) return { said: "Poll requested. It runs as soon as a worker is free." };
  const reason = reasonOf(why);
  return {
    said: `${watches.length === 1 ? "The poll has to wait" : "Some polls have to wait"}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`,
  };
}

/** The last observed state, when the last poll failed. */
function lastObserved(watch, entries) {
  const change = entries.findLast((entry) => entry.kind === "change");
  const state = payments[watch.payment.state]?.[2] ?? sentence(plain(watch.payment.state));
  const was = change ? `As of ${when(change.at).replace(/^(at|on) /, "")}: ${state.charAt(0).toLowerCase()}${state.slice(1)}` : state;
  return `${was} This may have changed since, because the last poll failed: ${sentence(watch.last_error)}`;
}

/** The outcome in a few sentences. */
function summary(watch, entries) {
  const { payment } = watch;
  if (watch.closed_reason === "dead") {
    const why = sentence(`it is in quarantine: ${watch.last_error ?? "polling it crashed the worker"}`);
    return `${why} The state of the payment is unknown. Redrive it to poll it again.`;
  }
  if (!payment) {
    if (watch.closed_reason) return closing(watch);
    if (watch.last_error) return `The last poll failed: ${sentence(watch.last_error)}`;
    return watch.attempts ? `The upstream status is ${plain(watch.status ?? "unknown")}.` : "It has not been polled yet.";
  }
  if (isBlind(watch) && !payment.amount_received) return closing(watch);
  const lines = [watch.state === "open" && watch.last_error ? lastObserved(watch, entries) : payments[payment.state]?.[2] ?? plain(payment.state)];
  if (payment.reason) lines.push(`Reason: ${plain(payment.reason)}.`);
  if (payment.paid_at) lines.push(`It was paid on ${moment(payment.paid_at)}.`);
  if (payment.amount_returned) lines.push(`${money(payment.amount_returned, payment.currency)} was returned to the customer.`);
  if (payment.refund) {
    const what = refunds[payment.refund.status]?.[2] ?? `is ${plain(payment.refund.status)}`;
    lines.push(`A refund of ${money(payment.refund.amount, payment.currency)} ${what}.`);
  }
  if (watch.payment.state === "paid" && watch.closed_reason === "settled" && watch.kind !== "http") {
    lines.push("Refunds and disputes of the last minutes may not be visible yet.");
  }
  if (watch.state === "closed" && !["settled", "reached"].includes(watch.closed_reason)) lines.push(closing(watch) ?? "");
  return lines.join(" ");
}

function tools(watch, refresh) {
  const isOpen = watch.state === "open";
  // A poll reopens a watch that closed without an answer. After an answer it reads the payment state once.
  const canBePolled = isOpen || ["expired", "gone"].includes(watch.closed_reason)
    || (["settled", "reached"].includes(watch.closed_reason) && watch.payment);
  return [
    canBePolled && may("watches:poll") && act("Poll now", {
      run: () => pollNow([watch]), then: refresh, said: (answer) => answer.said,
    }),
    watch.closed_reason === "dead" && may("watches:write") && act("Redrive", {
      path: at(`v1/quarantine/${encodeURIComponent(watch.source)}/redrive`, named(watch)), then: refresh,
      said: "The payment is polled again.",
    }),
    watch.closed_reason === "dead" && may("watches:write") && dismissal(watch, refresh),
    isOpen && may("watches:write") && act("Cancel watch", {
      path: watchPath(watch), method: "DELETE", danger: true, then: refresh, said: "The watch is cancelled.",
      ask: {
        title: "Cancel this watch?", submit: "Cancel watch",
        text: ["Recipients get no further events of this payment.", "The payment itself is not changed. The customer can still pay."],
      },
    }),
  ];
}

/** A button that dismisses the dead letters of a delivery. */
export const dismissDead = (delivery, refresh) => delivery.dead_seqs.length > 0 && may("deliveries:retry")
  ? act("Dismiss", {
    path: `v1/deliveries/${encodeURIComponent(delivery.id)}/dismiss`, small: true, then: refresh, said: "Dead letters dismissed.",
    key: `dismiss ${delivery.id}`,
    ask: {
      title: "Dismiss the dead letters?", submit: "Dismiss",
      text: ["These events are not sent to this recipient, and the warning disappears.", "Later events are delivered as usual."],
    },
  }) : null;

/** A button that retries a failed delivery. */
export const retry = (delivery, refresh) => ["failing", "dead"].includes(delivery.state) && may("deliveries:retry")
  ? act("Retry", {
    path: `v1/deliveries/${encodeURIComponent(delivery.id)}/retry`, small: true, then: refresh, said: "Retry started.",
    key: `retry ${delivery.id}`,
  }) : null;

function about({ watch, explained, entries }) {
  // The timeline of a reopened watch begins earlier.
  const first = entries.find((entry) => entry.kind === "created")?.at;
  const began = first && new Date(first) < new Date(watch.created_at) ? first : watch.created_at;
  return facts([
    ["Source", [id(watch.source), copyButton(watch.source)]],
    ["Order", watch.order && [h("a", { href: orderLink(watch.order, watch.account), "data-key": "order" }, watch.order), copyButton(watch.order)]],
    ["Account", watch.account], ["Kind", plain(watch.kind)],
    ["Method", watch.payment?.method && method(watch.payment.method)],
    ["Received", watch.payment && money(watch.payment.amount_received, watch.payment.currency)],
    ["Presented amount", watch.payment?.presentment && money(watch.payment.presentment.amount, watch.payment.presentment.currency)],
    ["Upstream status", watch.status && plain(watch.status)],
    ["Created", h("span", null, moment(began))],
    ["Reopened", began !== watch.created_at && moment(watch.created_at)],
    ["Last polled", h("span", null, age(watch.last_polled_at, "not yet"), ` (${watch.attempts} polls)`, watch.last_error && ", last poll failed")],
    ["Last error", watch.last_error], ["Policy", watch.policy], ["Lane", explained?.lane?.id],
    ["Charge", watch.charge && h("span", null, plain(watch.charge.state), watch.charge.id && [" ", id(watch.charge.id), copyButton(watch.charge.id)])],
    ["Mandate", watch.mandate?.reference],
  ]);
}

function aside(all, refresh, others) {
  const { watch, deliveries } = all;
  const given = Object.entries(watch.metadata ?? {});
  return h("div", { class: "aside" },
    card("Recipients", recipients(deliveries, (delivery) => [retry(delivery, refresh), " ", dismissDead(delivery, refresh)])),
    others && card(`Other attempts to pay order ${watch.order}`, h("ul", { class: "rows" }, others.map((one) => h("li", null,
      h("a", { class: "id grow", href: paymentLink({ ...one, account: watch.account }), title: one.source, "data-key": one.source }, one.source),
      paymentBadge(one.payment))))),
    card("Details", about(all)),
    given.length > 0 && card("Metadata", facts(given)),
    watch.object && h("details", { class: "card", "data-key": "object" }, h("summary", null, "Raw object"),
      h("pre", { tabindex: "0", role: "region", "aria-label": "Object" }, JSON.stringify(watch.object, null, 2))));
}

async function get(source, query) {
  try {
    return await api(at(`v1/watches/${encodeURIComponent(source)}`, {
      account: query.get("account"), kind: query.get("kind"),
    }));
  } catch (error) {
    if (!(error instanceof Refused) || ![400, 404].includes(error.status)) throw error;
    // An ID without account or kind is searched in all accounts.
    return query.has("account") && query.has("kind") ? null : findSource(source);
  }
}

/** The page of one payment. */
export async function paymentPage({ id: source, query, refresh }) {
  const watch = await get(source, query);
  if (!watch) {
    const order = await maybe(at(`v1/orders/${encodeURIComponent(source)}`, { account: query.get("account") })).catch(() => null);
    if (order) {
      return [head("Payment", { back: back() }),
        h("p", { class: "failure" }, id(source), " is an order, not a payment: ", h("a", { href: orderLink(order.order, order.account) }, "open the order"),
          order.members.length > 0 && [order.members.length === 1 ? "; its payment is " : "; its payments are ", order.members.map((one, index) =>
            [index > 0 && ", ", h("a", { class: "id", href: paymentLink({ ...one, account: order.account }) }, one.source)])], ".")];
    }
    return [head("Payment", { back: back() }),
      h("p", { class: "failure" }, "No payment ", id(source), " found in your accounts. It was never watched, or its record has "
        + "expired.")];
  }
  const [all, order] = await Promise.all([
    read(watch), watch.order ? maybe(at(`v1/orders/${encodeURIComponent(watch.order)}`, { account: watch.account })) : null,
  ]);
  const others = order?.members.filter((one) => one.source !== watch.source) ?? [];
  return [
    head(watch.order ? `Payment of ${watch.order}` : watch.source, {
      back: back(), tools: tools(watch, refresh),
    }),
    h("section", { class: "outcome", "aria-label": "Outcome" },
      watch.payment && h("p", { class: "amount" }, sum(watch.payment)),
      watchBadge(watch),
      h("p", { class: isBlind(watch) ? "grow bad" : "grow" }, summary(watch, all.entries))),
    h("div", { class: "columns" },
      h("div", null,
        card("Next steps", next(watch, all.explained, all.deliveries)),
        card({ title: "Timeline", note: `times in ${zone()}` }, timeline(all.entries, all.deliveries))),
      aside(all, refresh, others.length ? others : null)),
  ];
}
