// The timeline of a payment, its next steps and its recipients.

import { api, collect, endpointLink, may, maybe, named, watchPath } from "./api.js";
import { h } from "./dom.js";
import { group } from "./grouping.js";
import { showMessage } from "./messages.js";
import { act, age, badge, excerpt } from "./parts.js";
import { closing, dayOf, moment, payments, place, plain, refunds, sentence, steps, timeOfDay, when } from "./words.js";

/** The label and colour of an event in lists. */
export function eventLabel(event) {
  if (event.type.startsWith("payment.") || event.type.startsWith("order.")) {
    const [word, colour] = payments[event.payment?.state] ?? [plain(event.type.split(".")[1]), ""];
    return { text: word, colour };
  }
  if (event.previous_status === null && event.payment && !event.type.startsWith("watch.")) {
    const [word, colour] = payments[event.payment.state] ?? [plain(event.payment.state), ""];
    return { text: word, colour };
  }
  if (event.type.startsWith("refund.")) {
    const status = event.type.slice(7);
    return { text: `Refund ${(refunds[status]?.[0] ?? plain(status)).toLowerCase()}`, colour: refunds[status]?.[1] ?? "" };
  }
  if (event.type === "next_step.changed") {
    return { text: steps[event.next_step?.type ?? "none"] ?? plain(event.next_step.type), colour: "" };
  }
  if (event.type === "watch.cancelled") return { text: "Watch cancelled", colour: "quiet" };
  if (event.type === "watch.dead") return { text: "In quarantine", colour: "bad" };
  if (event.type.startsWith("watch.")) {
    return { text: plain(event.type.slice(6)), colour: event.closed_reason === "dead" ? "bad" : "quiet" };
  }
  return { text: plain(event.status ?? event.type), colour: "quiet" };
}

const nameOf = (delivery, endpoint) =>
  endpoint?.name ?? place(delivery.url ?? endpoint?.url ?? delivery.endpoint);

/** The deliveries of a payment with their endpoints. */
export async function deliveriesOf(watch) {
  if (!may("deliveries:read")) return [];
  const { data } = await collect("v1/deliveries", { source: watch.source, ...named(watch), limit: 100 });
  return Promise.all(data.map(async (delivery) => ({
    delivery,
    endpoint: delivery.url || !may("endpoints:read") ? null : await maybe(`v1/endpoints/${encodeURIComponent(delivery.endpoint)}`),
  })));
}

/** The timeline entries of a payment, from the server. */
export async function timelineOf(watch) {
  const { data } = await api(watchPath(watch, "timeline"));
  return data;
}

function attemptLine(attempt) {
  return h("li", null, h("time", { class: "soft" }, timeOfDay(attempt.at)), " ",
    attempt.reason ?? plain(attempt.class), attempt.code && !attempt.reason?.includes(attempt.code) ? ` (${attempt.code})` : "",
    attempt.ms?.total !== null && attempt.ms?.total !== undefined ? h("span", { class: "soft" }, ` ${attempt.ms.total} ms`) : "",
    attempt.excerpt && excerpt(attempt.excerpt));
}

/** The line below an entry: its detail, the time of its last part, and the payment attempt. */
function small(entry) {
  const last = entry.until ? `last ${when(entry.until)}` : null;
  return [entry.detail, last, entry.of].filter(Boolean).join(" · ");
}

/** A button that shows the message of a delivery; nothing for other entries. */
function readButton(entry, deliveries) {
  const its = entry.seq && deliveries.find(({ delivery }) => delivery.endpoint === entry.endpoint
    && (!entry.source || delivery.source === entry.source));
  return its && act("View", {
    run: () => showMessage(its.delivery.id, entry.seq), small: true, key: `read ${its.delivery.id} ${entry.seq} ${entry.at}`,
    title: "View the email text or the webhook body",
  });
}

/** The details below the sentence of an entry. */
function below(entry, deliveries) {
  const read = readButton(entry, deliveries);
  if (entry.parts) {
    return h("details", { "data-key": `parts ${entry.at} ${entry.seq} ${entry.of ?? ""}` },
      h("summary", null, small(entry)), h("ul", { class: "parts" }, entry.parts.map((part) => h("li", null,
        h("time", { class: "soft", datetime: part.at, title: moment(part.at) }, timeOfDay(part.at)), " ", part.text,
        h("div", { class: "soft" }, small({ ...part, of: null }), " ", readButton({ ...part, source: entry.source }, deliveries)),
        part.attempts && h("ul", null, part.attempts.map(attemptLine))))));
  }
  if (!entry.attempts) return h("p", { class: "soft small" }, small(entry), read && [" ", read]);
  return [h("details", { "data-key": `attempts ${entry.at} ${entry.text}` },
    h("summary", null, small(entry)), h("ul", null, entry.attempts.map(attemptLine))), read];
}

/** The entries grouped by day. Deliveries of one event are one entry. */
export function timeline(entries, deliveries = [], label = "Timeline") {
  let day = null;
  const items = [];
  for (const entry of group(entries, new Map(deliveries.map(({ delivery, endpoint }) => [delivery.endpoint, nameOf(delivery, endpoint)])))) {
    const its = dayOf(entry.at);
    if (its !== day) items.push(h("li", { class: "day" }, its));
    day = its;
    items.push(h("li", { class: `entry ${entry.tone ?? ""} ${entry.kind}` },
      h("time", { datetime: entry.at, title: moment(entry.at) }, timeOfDay(entry.at)),
      h("div", null, h("p", null, entry.text), below(entry, deliveries))));
  }
  return h("ol", { class: "timeline", "aria-label": label }, items);
}

/** When a delivery is retried; null when its endpoint is unavailable and no time is known. */
export function nextTry(delivery, health) {
  const moments = [delivery.next_attempt_at, health?.held_until].filter(Boolean).map((text) => new Date(text));
  const last = moments.length ? new Date(Math.max(...moments)) : null;
  return last && last > Date.now() - 3000 ? last.toISOString() : null;
}

/** A reason from the server, with local times and without the worker's name. */
export function reasonOf(text) {
  if (/^worker .* has it until/.test(text)) return "It is being polled now.";
  return sentence(text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, moment));
}

/** The next steps of a payment, in sentences; `explained` is the answer of `explain`. */
export function next(watch, explained, deliveries) {
  const lines = [];
  const step = watch.next_step;
  const isOpen = watch.state === "open";
  if (isOpen && step && step.type !== "none") {
    lines.push(`Next step of the customer: ${steps[step.type] ?? plain(step.type)}${step.until ? `, until ${moment(step.until)}` : ""}.`);
  }
  const at_ = explained?.earliest_poll_at ?? watch.next_poll_at;
  const isAhead = at_ && new Date(at_) > Date.now() - 1000;
  // A failing lane is probed with one payment, which need not be this one.
  const isDown = explained?.lane && explained.lane.circuit !== "closed";
  if (isOpen && isAhead) {
    lines.push(isDown ? `The next poll is not before ${timeOfDay(at_)}.` : h("span", null, "Next poll ", age(at_), "."));
  }
  if (!isOpen) lines.push(closing(watch) ?? "Polling has stopped.");
  if (watch.closed_reason === "dead") lines.push("It is not polled until you redrive it.");
  for (const reason of (isOpen && explained?.reasons) || []) {
    // The line above says so.
    if (!(isAhead && /^it is due/.test(reason))) lines.push(reasonOf(reason));
  }
  for (const { delivery, endpoint } of deliveries) {
    const name = nameOf(delivery, endpoint);
    if (delivery.state === "failing") {
      const due = nextTry(delivery, endpoint?.health);
      lines.push(due ? h("span", null, `Delivery to ${name} is retried `, age(due), ".") : `Delivery to ${name} is retried when it recovers.`);
    }
    if (delivery.state === "dead") lines.push(`Delivery to ${name} failed. It is not retried automatically; use Retry.`);
    if (["waiting", "failing"].includes(delivery.state) && endpoint?.state === "disabled") lines.push(`${name} is disabled and receives no events.`);
    else if (delivery.state === "waiting" && isUnavailable(endpoint)) lines.push(`${name} is unavailable. Delivery continues when it recovers.`);
  }
  if (isOpen && watch.deadline_at) lines.push(h("span", null, "The watch expires on ", moment(watch.deadline_at), "."));
  return h("ul", { class: "next" }, lines.map((line) => h("li", null, line)));
}

const isUnavailable = (endpoint) => Boolean(endpoint?.health) && endpoint.health.circuit !== "closed";

/** The last accepted event of a recipient without pending events. */
function lastAccepted(delivery, accepted, isOver) {
  // Shows the payment state: statuses such as `consumed` mean nothing to support agents.
  if (accepted) return [`Notified: ${payments[accepted.payment]?.[0] ?? accepted.accepted}, ${timeOfDay(accepted.at)}`, "good"];
  if (delivery.attempts === 0) return [isOver ? "Not notified" : "No events yet", "quiet"];
  // Attempts expire before deliveries do, and dead letters may have been dismissed.
  return ["No pending events", "quiet"];
}

/** The recipients of a payment with their delivery state. */
export function recipients(deliveries, tools) {
  if (deliveries.length === 0) return h("p", { class: "empty" }, "No recipients. Add an endpoint, or a notify URL when you enqueue a payment.");
  const words = {
    waiting: ["Waiting", ""], in_flight: ["Sending", "info"],
    failing: ["Failing", "careful"], dead: ["Dead letter", "bad"],
  };
  return h("ul", { class: "rows recipients" }, deliveries.map(({ delivery, endpoint, accepted, isOver }) => {
    const name = nameOf(delivery, endpoint);
    const [word, colour] = endpoint?.state === "disabled" ? ["Disabled", "bad"]
      : delivery.state === "waiting" && isUnavailable(endpoint) ? ["Waiting for recovery", "careful"]
        : delivery.state === "done" ? lastAccepted(delivery, accepted, isOver) : words[delivery.state] ?? [delivery.state, ""];
    return h("li", null,
      h("a", { class: "grow", href: endpointLink(delivery.endpoint), title: name, "data-key": `to ${delivery.id}` }, name),
      badge(word, colour, delivery.last_error), tools && h("span", { class: "tools" }, tools(delivery)));
  }));
}
