// One payment: what became of it, what happens next, and what somebody can do.

import { Refused, api, at, may, maybe, named, orderLink, paymentLink, post, watchPath } from "./api.js";
import { copyButton } from "./dialogs.js";
import { h } from "./dom.js";
import { act, age, card, facts, head, id, paymentBadge, sum, watchBadge } from "./parts.js";
import { back } from "./payments.js";
import { dismissal } from "./quarantine.js";
import { findSource } from "./query.js";
import { deliveriesOf, next, reasonOf, receivers, story, timeline } from "./timeline.js";
import { closing, isBlind, method, moment, money, payments, plain, refunds, sentence, when, zone } from "./words.js";

/** Everything about one watch. */
export async function read(watch) {
  const [told, deliveries, entries] = await Promise.all([
    maybe(watchPath(watch, "explain")), deliveriesOf(watch), story(watch),
  ]);
  for (const one of deliveries) {
    one.told = entries.findLast((entry) => entry.accepted && entry.endpoint === one.delivery.endpoint);
    one.isOver = watch.state !== "open";
  }
  // Who is still to be told stands beside it.
  return { watch, told, deliveries, entries: entries.filter((entry) => entry.kind !== "ahead") };
}

/** Why a payment that is due now may have to wait; null when nothing but its turn is waited for. */
async function obstacle(watch) {
  const told = await maybe(watchPath(watch, "explain")).catch(() => null);
  const isSoon = told?.earliest_poll_at && new Date(told.earliest_poll_at) - new Date(told.due_at) <= 2000;
  return told?.place === "waiting" && !isSoon ? told.reasons[0] ?? null : null;
}

/** Has payments looked at, and says when that can be. */
export async function lookNow(watches) {
  await Promise.all(watches.map((watch) => post(watchPath(watch, "poll"))));
  const whys = await Promise.all(watches.map(obstacle));
  const why = whys.find(Boolean);
  const [one, verb] = watches.length === 1 ? ["It", "is"] : ["They", "are"];
  if (!why) return { said: `${one} ${verb} looked at as soon as a worker is free.` };
  const reason = reasonOf(why);
  return {
    said: `${watches.length === 1 ? "It is due now and waits" : "Not all are looked at now"}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`,
  };
}

/** What was true when it could be seen last, and that it cannot be seen now. */
function outOfSight(watch, entries) {
  const seen = entries.findLast((entry) => entry.kind === "change");
  const state = payments[watch.payment.state]?.[2] ?? sentence(plain(watch.payment.state));
  const was = seen ? `As of ${when(seen.at).replace(/^(at|on) /, "")}: ${state.charAt(0).toLowerCase()}${state.slice(1)}` : state;
  return `${was} Whether that is still so we cannot see, the last look failed: ${sentence(watch.last_error)}`;
}

/** What has become of it, in one sentence. */
function summary(watch, entries) {
  const { payment } = watch;
  if (watch.closed_reason === "dead") {
    const why = sentence(`it is in quarantine: ${watch.last_error ?? "looking at it took the worker down"}`);
    return `${why} What has become of the money is not known until somebody redrives it.`;
  }
  if (!payment) {
    if (watch.closed_reason) return closing(watch);
    if (watch.last_error) return `The last look failed: ${sentence(watch.last_error)}`;
    return watch.attempts ? `The upstream says ${plain(watch.status ?? "nothing yet")}.` : "It has not been looked at yet.";
  }
  if (isBlind(watch) && !payment.amount_received) return closing(watch);
  const lines = [watch.state === "open" && watch.last_error ? outOfSight(watch, entries) : payments[payment.state]?.[2] ?? plain(payment.state)];
  if (payment.reason) lines.push(`Why: ${plain(payment.reason)}.`);
  if (payment.paid_at) lines.push(`It was paid on ${moment(payment.paid_at)}.`);
  if (payment.amount_returned) lines.push(`${money(payment.amount_returned, payment.currency)} has gone back.`);
  if (payment.refund) {
    const what = refunds[payment.refund.status]?.[2] ?? `is ${plain(payment.refund.status)}`;
    lines.push(`A refund of ${money(payment.refund.amount, payment.currency)} ${what}.`);
  }
  if (watch.payment.state === "paid" && watch.closed_reason === "settled" && watch.kind !== "http") {
    lines.push("A refund or a dispute of the last minutes may not be known yet.");
  }
  if (watch.state === "closed" && !["settled", "reached"].includes(watch.closed_reason)) lines.push(closing(watch) ?? "");
  return lines.join(" ");
}

function tools(watch, refresh) {
  const isOpen = watch.state === "open";
  // A poll reopens a watch that ended without an answer; one that ended with an answer is polled once, for its money.
  const mayBeSeen = isOpen || ["expired", "gone"].includes(watch.closed_reason)
    || (["settled", "reached"].includes(watch.closed_reason) && watch.payment);
  return [
    mayBeSeen && may("watches:poll") && act("Look now", {
      run: () => lookNow([watch]), then: refresh, said: (answer) => answer.said,
    }),
    watch.closed_reason === "dead" && may("watches:write") && act("Redrive", {
      path: at(`v1/quarantine/${encodeURIComponent(watch.source)}/redrive`, named(watch)), then: refresh,
      said: "It is watched again.",
    }),
    watch.closed_reason === "dead" && may("watches:write") && dismissal(watch, refresh),
    isOpen && may("watches:write") && act("Stop watching", {
      path: watchPath(watch), method: "DELETE", danger: true, then: refresh, said: "It is not watched any more.",
      ask: {
        title: "Stop watching this payment?", submit: "Stop watching",
        text: ["Nobody will be told what becomes of it.", "The payment itself is not touched: the customer may still pay."],
      },
    }),
  ];
}

/** Lets rest what a delivery has given up. */
export const letRest = (delivery, refresh) => delivery.dead_seqs.length > 0 && may("deliveries:retry")
  ? act("Dismiss", {
    path: `v1/deliveries/${encodeURIComponent(delivery.id)}/dismiss`, small: true, then: refresh, said: "It rests.",
    key: `dismiss ${delivery.id}`,
    ask: {
      title: "Dismiss what was given up?", submit: "Dismiss",
      text: ["This receiver is not told of it any more, and nobody is warned of it.", "What comes later is sent as before."],
    },
  }) : null;

/** Sends a delivery again; for whom it has failed. */
export const retry = (delivery, refresh) => ["failing", "dead"].includes(delivery.state) && may("deliveries:retry")
  ? act("Send again", {
    path: `v1/deliveries/${encodeURIComponent(delivery.id)}/retry`, small: true, then: refresh, said: "It is sent now.",
    key: `retry ${delivery.id}`,
  }) : null;

function about({ watch, told, entries }) {
  // Of one that is followed again the story begins before.
  const first = entries.find((entry) => entry.kind === "created")?.at;
  const began = first && new Date(first) < new Date(watch.created_at) ? first : watch.created_at;
  return facts([
    ["Source", [id(watch.source), copyButton(watch.source)]],
    ["Order", watch.order && [h("a", { href: orderLink(watch.order, watch.account), "data-key": "order" }, watch.order), copyButton(watch.order)]],
    ["Account", watch.account], ["Kind", plain(watch.kind)],
    ["Method", watch.payment?.method && method(watch.payment.method)],
    ["Arrived", watch.payment && money(watch.payment.amount_received, watch.payment.currency)],
    ["Customer was shown", watch.payment?.presentment && money(watch.payment.presentment.amount, watch.payment.presentment.currency)],
    ["Upstream says", watch.status && plain(watch.status)],
    ["Watched since", h("span", null, moment(began))],
    ["Followed again", began !== watch.created_at && moment(watch.created_at)],
    ["Looked at", h("span", null, age(watch.last_polled_at, "not yet"), ` (${watch.attempts} times)`, watch.last_error && ", the last look failed")],
    ["Last error", watch.last_error], ["Policy", watch.policy], ["Lane", told?.lane?.id],
    ["Charge", watch.charge && h("span", null, plain(watch.charge.state), watch.charge.id && [" ", id(watch.charge.id), copyButton(watch.charge.id)])],
    ["Mandate", watch.mandate?.reference],
  ]);
}

function aside(all, refresh, tries) {
  const { watch, deliveries } = all;
  const given = Object.entries(watch.metadata ?? {});
  return h("div", { class: "aside" },
    card("Who is told", receivers(deliveries, (delivery) => [retry(delivery, refresh), " ", letRest(delivery, refresh)])),
    tries && card(`Other tries of order ${watch.order}`, h("ul", { class: "rows" }, tries.map((one) => h("li", null,
      h("a", { class: "id grow", href: paymentLink({ ...one, account: watch.account }), title: one.source, "data-key": one.source }, one.source),
      paymentBadge(one.payment))))),
    card("About it", about(all)),
    given.length > 0 && card("Said by the shop", facts(given)),
    watch.object && h("details", { class: "card", "data-key": "object" }, h("summary", null, "The upstream's own words"),
      h("pre", { tabindex: "0", role: "region", "aria-label": "Object" }, JSON.stringify(watch.object, null, 2))));
}

async function get(source, query) {
  try {
    return await api(at(`v1/watches/${encodeURIComponent(source)}`, {
      account: query.get("account"), kind: query.get("kind"),
    }));
  } catch (error) {
    if (!(error instanceof Refused) || ![400, 404].includes(error.status)) throw error;
    // Whoever typed an id alone need not know its account or kind.
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
        h("p", { class: "failure" }, id(source), " is an order: ", h("a", { href: orderLink(order.order, order.account) }, "what became of it"),
          order.members.length > 0 && [order.members.length === 1 ? "; its payment is " : "; its payments are ", order.members.map((one, index) =>
            [index > 0 && ", ", h("a", { class: "id", href: paymentLink({ ...one, account: order.account }) }, one.source)])], ".")];
    }
    return [head("Payment", { back: back() }),
      h("p", { class: "failure" }, "No payment ", id(source), " is known in any account you may see. It was never watched, or it "
        + "is forgotten.")];
  }
  const [all, order] = await Promise.all([
    read(watch), watch.order ? maybe(at(`v1/orders/${encodeURIComponent(watch.order)}`, { account: watch.account })) : null,
  ]);
  const tries = order?.members.filter((one) => one.source !== watch.source) ?? [];
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
        card("What happens next", next(watch, all.told, all.deliveries)),
        card({ title: "Timeline", note: `in your time (${zone()})` }, timeline(all.entries, all.deliveries))),
      aside(all, refresh, tries.length ? tries : null)),
  ];
}
