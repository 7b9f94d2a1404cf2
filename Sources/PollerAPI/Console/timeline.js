// What became of a payment, in plain words, the oldest first.

import { api, at, collect, endpointLink, may, maybe, named, watchPath } from "./api.js";
import { h } from "./dom.js";
import { age, badge } from "./parts.js";
import { closings, count, dayOf, method, moment, money, payments, place, plain, sentence, steps, timeOfDay, when } from "./words.js";

/** An event in a word and its colour, for lists. */
export function tell(event) {
  if (event.type.startsWith("payment.") || event.type.startsWith("order.")) {
    const [word, colour] = payments[event.payment?.state] ?? [plain(event.type.split(".")[1]), ""];
    return { text: word, colour };
  }
  if (event.previous_status === null && event.payment && !event.type.startsWith("watch.")) {
    const [word, colour] = payments[event.payment.state] ?? [plain(event.payment.state), ""];
    return { text: word, colour };
  }
  if (event.type === "next_step.changed") {
    return { text: steps[event.next_step?.type ?? "none"] ?? plain(event.next_step.type), colour: "" };
  }
  if (event.type.startsWith("watch.")) {
    return { text: plain(event.type.slice(6)), colour: event.closed_reason === "dead" ? "bad" : "quiet" };
  }
  return { text: plain(event.status ?? event.type), colour: "quiet" };
}

function sentenceOf(event) {
  const { payment } = event;
  if (event.type.startsWith("payment.") && payment) {
    const sum = money(payment.amount_received || payment.amount, payment.currency);
    const by = payment.method ? ` by ${method(payment.method)}` : "";
    const why = payment.reason ? ` Why: ${plain(payment.reason)}.` : "";
    const told = {
      awaiting_customer: `Waits for the customer to pay ${money(payment.amount, payment.currency)}${by}.`,
      processing: `The bank is working on ${money(payment.amount, payment.currency)}${by}.`,
      authorised: `The customer has approved ${money(payment.amount, payment.currency)}${by}.`,
      paid: `Paid: ${sum} has arrived${by}.`,
      partially_paid: `${money(payment.amount_received, payment.currency)} of ${money(payment.amount, payment.currency)} has arrived${by}.`,
      refunded: `${money(payment.amount_returned ?? payment.amount, payment.currency)} has gone back to the customer.`,
      partially_refunded: `${money(payment.amount_returned, payment.currency)} of it has gone back to the customer.`,
    }[payment.state] ?? (payments[payment.state]?.[2] ?? sentence(plain(payment.state)));
    return told + why;
  }
  if (event.type === "next_step.changed") {
    const until = event.next_step?.until ? `, until ${moment(event.next_step.until)}` : "";
    return event.next_step && event.next_step.type !== "none"
      ? `The customer is to: ${steps[event.next_step.type] ?? plain(event.next_step.type)}${until}.`
      : "The customer has nothing more to do.";
  }
  if (event.type.startsWith("watch.")) return closings[event.closed_reason] ?? sentence(plain(event.type));
  if (event.kind === "order") return sentence(plain(event.type.replace(".", " ")));
  const first = event.previous_status === null;
  return first ? `Seen at the upstream for the first time: ${plain(event.status)}.`
    : `The upstream says ${plain(event.status)}; before it was ${plain(event.previous_status)}.`;
}

/** Events as entries; what was seen by one look stands together. */
function ofEvents(events) {
  const entries = [];
  for (const event of events) {
    const at_ = event.observed?.polled_at;
    const last = entries.at(-1);
    const isTechnical = !/^(payment|order|next_step|watch)\./.test(event.type);
    if (isTechnical && event.seq > 1 && last?.at === at_ && last.event.kind === event.kind) {
      last.detail += ` · ${event.type}`;
      if (event.closed_reason) last.also = closings[event.closed_reason];
      continue;
    }
    const { colour } = tell(event);
    const isFirst = event.previous_status === null && event.payment && isTechnical;
    entries.push({
      at: at_, kind: "change", event, colour: isFirst ? "" : colour,
      text: isFirst ? sentenceOf({ ...event, type: `payment.${event.payment.state}` }) : sentenceOf(event),
      detail: `${event.type} · event ${event.seq}`,
      also: event.closed_reason && !event.type.startsWith("watch.") ? closings[event.closed_reason] : null,
      charge: event.charge,
    });
    const { charge } = event;
    const before = entries.findLast((one) => one.charge && one !== entries.at(-1))?.charge;
    if (charge?.state && charge.state !== "none" && charge.state !== before?.state) {
      const colours = { succeeded: "good", failed: "bad", doubtful: "careful" };
      entries.push({
        at: at_, kind: "charge", event, charge, colour: colours[charge.state] ?? "info",
        text: `The charge ${charge.state === "doubtful" ? "may or may not have gone through; it is looked for" : `has ${{ pending: "been made and is on its way", succeeded: "succeeded", failed: "failed" }[charge.state]}`}.`,
        detail: charge.id ?? "",
      });
    }
  }
  return entries;
}

const toldTo = (delivery, endpoint) => {
  const url = delivery.url ?? endpoint?.url ?? delivery.endpoint;
  return { isMail: url.startsWith("mailto:"), name: endpoint?.name ?? place(url) };
};

/** The attempts of one delivery as entries: what was accepted, and what failed time after time. */
function ofAttempts(delivery, attempts, endpoint, words) {
  const { isMail, name } = toldTo(delivery, endpoint);
  const entries = [];
  for (const attempt of attempts) {
    const what = words.get(attempt.seq) ?? `event ${attempt.seq}`;
    const took = attempt.ms?.total === null || attempt.ms?.total === undefined ? "" : ` in ${attempt.ms.total} ms`;
    if (attempt.outcome === "delivered") {
      entries.push({
        at: attempt.at, kind: isMail ? "mail" : "delivery", colour: "quiet", href: endpointLink(delivery.endpoint),
        text: isMail ? `A mail to ${name} went out: ${what}.` : `${name} was told: ${what}.`,
        detail: `${isMail ? "the mail server took it" : `answered ${attempt.code ?? "yes"}`}${took}`,
      });
      continue;
    }
    const last = entries.at(-1);
    if (last?.failed && last.seq === attempt.seq) {
      last.attempts.push(attempt);
      last.until = attempt.at;
      last.isFinal = attempt.outcome === "rejected";
      continue;
    }
    entries.push({
      at: attempt.at, until: attempt.at, kind: isMail ? "mail" : "delivery", failed: true, seq: attempt.seq,
      attempts: [attempt], colour: "careful", name, what, href: endpointLink(delivery.endpoint),
      isFinal: attempt.outcome === "rejected",
    });
  }
  for (const entry of entries.filter((one) => one.failed)) {
    const n = entry.attempts.length;
    const hasGivenUp = entry.isFinal || delivery.dead_seqs?.includes(entry.seq);
    entry.colour = hasGivenUp ? "bad" : "careful";
    entry.text = `${entry.name} could not be told: ${entry.what}${n > 1 ? ` (${count(n)} attempts)` : ""}.`
      + (hasGivenUp ? " It was given up." : "");
    entry.detail = entry.attempts.at(-1).reason ?? plain(entry.attempts.at(-1).class);
  }
  return entries;
}

/** The deliveries of a payment with their attempts and endpoints. */
export async function deliveriesOf(watch) {
  if (!may("deliveries:read")) return [];
  const { data } = await collect("/v1/deliveries", { source: watch.source, ...{ account: watch.account, kind: watch.kind }, limit: 100 });
  return Promise.all(data.map(async (delivery) => {
    const [attempts, endpoint] = await Promise.all([
      maybe(`/v1/deliveries/${encodeURIComponent(delivery.id)}/attempts`),
      delivery.url || !may("endpoints:read") ? null : maybe(`/v1/endpoints/${encodeURIComponent(delivery.endpoint)}`),
    ]);
    return { delivery, endpoint, attempts: attempts?.data ?? [] };
  }));
}

const deeds = {
  enqueue: "asked for it to be watched", pollWatch: "had it looked at", cancelWatch: "stopped the watching",
  redrive: "had it watched again", verifyWatch: "handed in a code", giveRefundAccount: "said where money goes back to",
};
let hasAudit = true;

/** Who has done what to a payment, where the server keeps that and the key may know it. */
async function ofPeople(watch) {
  const told = hasAudit && await maybe(at("/v1/audit", { target: watch.source, account: watch.account, limit: 100 }));
  hasAudit = Boolean(told);
  return (told ? told.data : []).filter((one) => one.target?.kind === "watch").map((one) => {
    const deed = deeds[one.action] ?? plain(one.action.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
    return {
      at: one.at, kind: "person", colour: one.refused ? "careful" : "info", detail: one.address,
      text: one.refused ? `${one.by} was refused: ${deed} (${plain(one.refused)}).` : `${one.by} ${deed}.`,
    };
  });
}

const tones = { change: "info", charge: "info", redrive: "info" };

/** An entry of the server's story; what it does not say in words is shown as it is. */
const ofServer = ({ detail, ...entry }) => ({
  ...entry, colour: entry.tone ?? tones[entry.kind] ?? "quiet",
  detail: detail === undefined || detail === null || typeof detail === "string" ? detail : JSON.stringify(detail),
});

/** Everything that is known of a payment: the server's own story, or what its parts tell. */
export async function story(watch, deliveries) {
  const told = await maybe(at(`/v1/watches/${encodeURIComponent(watch.source)}/timeline`, named(watch)));
  if (told) return told.data.map(ofServer);
  const [{ data: events }, people] = await Promise.all([api(watchPath(watch, "events")), ofPeople(watch)]);
  const words = new Map(events.map((event) => [event.seq, `“${tell(event).text}”`]));
  return [
    {
      at: watch.created_at, kind: "created", colour: "quiet", text: "The shop asked for this payment to be watched.",
      detail: `policy ${watch.policy}${watch.run > 1 ? `, watched for the ${watch.run}. time` : ""}`,
    },
    ...ofEvents(events), ...people,
    watch.last_error && watch.last_polled_at && {
      at: watch.last_polled_at, kind: "look", colour: watch.closed_reason === "dead" ? "bad" : "careful",
      text: `The last look failed: ${sentence(watch.last_error)}`, detail: `${count(watch.attempts)} looks in all`,
    },
    ...deliveries.flatMap((one) => ofAttempts(one.delivery, one.attempts, one.endpoint, words)),
  ].filter(Boolean).sort((a, b) => new Date(a.at) - new Date(b.at));
}

function attemptLine(attempt) {
  return h("li", null, h("time", { class: "soft" }, timeOfDay(attempt.at)), " ",
    attempt.reason ?? plain(attempt.class), attempt.code ? ` (${attempt.code})` : "",
    attempt.ms?.total !== null && attempt.ms?.total !== undefined ? h("span", { class: "soft" }, ` ${attempt.ms.total} ms`) : "",
    attempt.excerpt && h("code", { class: "excerpt" }, attempt.excerpt));
}

/** What is said below an entry: how, by whom, of which try. */
function small(entry) {
  const last = entry.attempts?.length > 1 ? `the last ${when(entry.until)}` : null;
  return [entry.by && `by ${entry.by}`, entry.detail, last, entry.of].filter(Boolean).join(" · ");
}

/** Draws entries, a day under its name. */
export function timeline(entries, label = "What became of it") {
  let day = null;
  const items = [];
  for (const entry of entries) {
    const its = dayOf(entry.at);
    if (its !== day) items.push(h("li", { class: "day" }, its));
    day = its;
    items.push(h("li", { class: `entry ${entry.colour ?? ""} ${entry.kind ?? ""}` },
      h("time", { datetime: entry.at, title: moment(entry.at) }, timeOfDay(entry.at)),
      h("div", null,
        h("p", null, entry.text, entry.also && h("span", { class: "soft" }, ` ${entry.also}`)),
        entry.attempts
          ? h("details", { "data-key": `attempts ${entry.at} ${entry.text}` },
            h("summary", null, small(entry)), h("ul", null, entry.attempts.map(attemptLine)))
          : h("p", { class: "soft small" }, small(entry)))));
  }
  return h("ol", { class: "timeline", "aria-label": label }, items);
}

/** When a delivery is tried again; null when that is not known because its endpoint is held. */
export function nextTry(delivery, health) {
  const moments = [delivery.next_attempt_at, health?.held_until].filter(Boolean).map((text) => new Date(text));
  const last = moments.length ? new Date(Math.max(...moments)) : null;
  return last && last > Date.now() - 3000 ? last.toISOString() : null;
}

/** What happens next, in sentences. */
export function next(watch, told, deliveries) {
  const lines = [];
  const step = watch.next_step;
  const isOpen = watch.state === "open";
  if (isOpen && step && step.type !== "none") {
    lines.push(`The customer is to: ${steps[step.type] ?? plain(step.type)}${step.until ? `, until ${moment(step.until)}` : ""}.`);
  }
  const at_ = told?.earliest_poll_at ?? watch.next_poll_at;
  const isAhead = at_ && new Date(at_) > Date.now() - 1000;
  if (isOpen && isAhead) lines.push(h("span", null, "It is looked at again ", age(at_), "."));
  if (!isOpen) lines.push(closings[watch.closed_reason] ?? "It is not looked at any more.");
  for (const reason of (isOpen && told?.reasons) || []) {
    // Said already, or of no interest.
    if (!(isAhead && /^it is due/.test(reason)) && !/^0 others/.test(reason)) lines.push(sentence(reason));
  }
  for (const { delivery, endpoint } of deliveries) {
    const { name } = toldTo(delivery, endpoint);
    if (delivery.state === "failing") {
      const due = nextTry(delivery, endpoint?.health);
      lines.push(due ? h("span", null, `${name} is told again `, age(due), ".") : `${name} is told again as soon as it answers.`);
    }
    if (delivery.state === "dead") lines.push(`${name} is not told any more, unless somebody sends it again.`);
    if (delivery.state === "waiting" && endpoint?.state === "disabled") lines.push(`${name} is disabled and told nothing.`);
  }
  if (isOpen && watch.deadline_at) lines.push(h("span", null, "Nobody waits for it any longer than ", moment(watch.deadline_at), "."));
  return h("ul", { class: "next" }, lines.map((line) => h("li", null, line)));
}

/** How each receiver stands with a payment. */
export function receivers(deliveries, tools) {
  if (deliveries.length === 0) return h("p", { class: "empty" }, "Nobody is told about it.");
  const words = {
    done: ["Told", "good"], waiting: ["Waits", ""], in_flight: ["Being told", "info"],
    failing: ["Failing", "careful"], dead: ["Given up", "bad"],
  };
  return h("ul", { class: "rows" }, deliveries.map(({ delivery, endpoint }) => {
    const { name } = toldTo(delivery, endpoint);
    const [word, colour] = endpoint?.state === "disabled" ? ["Disabled", "bad"] : words[delivery.state] ?? [delivery.state, ""];
    return h("li", null,
      h("a", { class: "grow", href: endpointLink(delivery.endpoint), title: name, "data-key": `to ${delivery.id}` }, name),
      badge(word, colour, delivery.last_error), tools?.(delivery));
  }));
}
