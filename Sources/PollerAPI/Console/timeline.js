// What became of a payment, in plain words, the oldest first.

import { api, collect, endpointLink, may, maybe, named, watchPath } from "./api.js";
import { h } from "./dom.js";
import { fold } from "./folding.js";
import { showMessage } from "./messages.js";
import { act, age, badge, excerpt } from "./parts.js";
import { closing, dayOf, moment, payments, place, plain, refunds, sentence, steps, timeOfDay, when } from "./words.js";

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
  if (event.type.startsWith("refund.")) {
    const status = event.type.slice(7);
    return { text: `Refund ${(refunds[status]?.[0] ?? plain(status)).toLowerCase()}`, colour: refunds[status]?.[1] ?? "" };
  }
  if (event.type === "next_step.changed") {
    return { text: steps[event.next_step?.type ?? "none"] ?? plain(event.next_step.type), colour: "" };
  }
  if (event.type === "watch.cancelled") return { text: "Not watched any more", colour: "quiet" };
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

/** Everything that is known of a payment, as the server tells it. */
export async function story(watch) {
  const { data } = await api(watchPath(watch, "timeline"));
  return data;
}

function attemptLine(attempt) {
  return h("li", null, h("time", { class: "soft" }, timeOfDay(attempt.at)), " ",
    attempt.reason ?? plain(attempt.class), attempt.code ? ` (${attempt.code})` : "",
    attempt.ms?.total !== null && attempt.ms?.total !== undefined ? h("span", { class: "soft" }, ` ${attempt.ms.total} ms`) : "",
    attempt.excerpt && excerpt(attempt.excerpt));
}

/** What is said below an entry: how, by whom, of which try. */
function small(entry) {
  const last = entry.until ? `the last ${when(entry.until)}` : null;
  return [entry.detail, last, entry.of].filter(Boolean).join(" · ");
}

/** A button that shows the text of a delivery's message; nothing for an entry that is none. */
function readButton(entry, deliveries) {
  const its = entry.seq && deliveries.find(({ delivery }) => delivery.endpoint === entry.endpoint
    && (!entry.source || delivery.source === entry.source));
  return its && act("Read", {
    run: () => showMessage(its.delivery.id, entry.seq), small: true, key: `read ${its.delivery.id} ${entry.seq} ${entry.at}`,
    title: "The text of the email or the body of the webhook",
  });
}

/** What is known of an entry beside its sentence. */
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

/** Draws entries, a day under its name; the deliveries of one event are one entry. */
export function timeline(entries, deliveries = [], label = "Timeline") {
  let day = null;
  const items = [];
  for (const entry of fold(entries, new Map(deliveries.map(({ delivery, endpoint }) => [delivery.endpoint, nameOf(delivery, endpoint)])))) {
    const its = dayOf(entry.at);
    if (its !== day) items.push(h("li", { class: "day" }, its));
    day = its;
    items.push(h("li", { class: `entry ${entry.tone ?? ""} ${entry.kind}` },
      h("time", { datetime: entry.at, title: moment(entry.at) }, timeOfDay(entry.at)),
      h("div", null, h("p", null, entry.text), below(entry, deliveries))));
  }
  return h("ol", { class: "timeline", "aria-label": label }, items);
}

/** When a delivery is tried again; null when that is not known because its endpoint is held. */
export function nextTry(delivery, health) {
  const moments = [delivery.next_attempt_at, health?.held_until].filter(Boolean).map((text) => new Date(text));
  const last = moments.length ? new Date(Math.max(...moments)) : null;
  return last && last > Date.now() - 3000 ? last.toISOString() : null;
}

/** A reason of the server for a person: its times are theirs, and who works on it is nobody's business. */
export function reasonOf(text) {
  if (/^worker .* has it until/.test(text)) return "It is being looked at now.";
  return sentence(text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, moment));
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
  // Of a lane that does not answer one payment is tried, and it need not be this one.
  const isDown = told?.lane && told.lane.circuit !== "closed";
  if (isOpen && isAhead) {
    lines.push(isDown ? `It is not looked at before ${timeOfDay(at_)}.` : h("span", null, "It is looked at again ", age(at_), "."));
  }
  if (!isOpen) lines.push(closing(watch) ?? "It is not looked at any more.");
  if (watch.closed_reason === "dead") lines.push("Nothing more is done about it until somebody redrives it: then it is looked at again at once.");
  for (const reason of (isOpen && told?.reasons) || []) {
    // Said already.
    if (!(isAhead && /^it is due/.test(reason))) lines.push(reasonOf(reason));
  }
  for (const { delivery, endpoint } of deliveries) {
    const name = nameOf(delivery, endpoint);
    if (delivery.state === "failing") {
      const due = nextTry(delivery, endpoint?.health);
      lines.push(due ? h("span", null, `${name} is told again `, age(due), ".") : `${name} is told again as soon as it answers.`);
    }
    if (delivery.state === "dead") lines.push(`${name} is not told any more, unless somebody sends it again.`);
    if (["waiting", "failing"].includes(delivery.state) && endpoint?.state === "disabled") lines.push(`${name} is disabled and told nothing.`);
    else if (delivery.state === "waiting" && isHeld(endpoint)) lines.push(`${name} takes no events now; it is told when it does.`);
  }
  if (isOpen && watch.deadline_at) lines.push(h("span", null, "Nobody waits for it any longer than ", moment(watch.deadline_at), "."));
  return h("ul", { class: "next" }, lines.map((line) => h("li", null, line)));
}

const isHeld = (endpoint) => Boolean(endpoint?.health) && endpoint.health.circuit !== "closed";

/** What somebody was told who has nothing more to be told: that they were told is said where they have accepted something. */
function toldOf(delivery, told, isOver) {
  // The effect on the money, not the type of the last event: `consumed` means nothing to people.
  if (told) return [`Notified: ${payments[told.payment]?.[0] ?? told.accepted}, ${timeOfDay(told.at)}`, "good"];
  if (delivery.attempts === 0) return [isOver ? "Not notified" : "Nothing to deliver yet", "quiet"];
  // Attempts are forgotten before deliveries are, and what was given up may have been dismissed.
  return ["Nothing left to deliver", "quiet"];
}

/** How each receiver stands with a payment. */
export function receivers(deliveries, tools) {
  if (deliveries.length === 0) return h("p", { class: "empty" }, "Nobody is told about it.");
  const words = {
    waiting: ["Waits", ""], in_flight: ["Being told", "info"],
    failing: ["Failing", "careful"], dead: ["Given up", "bad"],
  };
  return h("ul", { class: "rows" }, deliveries.map(({ delivery, endpoint, told, isOver }) => {
    const name = nameOf(delivery, endpoint);
    const [word, colour] = endpoint?.state === "disabled" ? ["Disabled", "bad"]
      : delivery.state === "waiting" && isHeld(endpoint) ? ["Waits: held", "careful"]
        : delivery.state === "done" ? toldOf(delivery, told, isOver) : words[delivery.state] ?? [delivery.state, ""];
    return h("li", null,
      h("a", { class: "grow", href: endpointLink(delivery.endpoint), title: name, "data-key": `to ${delivery.id}` }, name),
      badge(word, colour, delivery.last_error), tools?.(delivery));
  }));
}
