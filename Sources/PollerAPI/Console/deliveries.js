// The list of deliveries with their attempts, and retries.

import { api, at, collect, endpointLink, may, maybe, orderLink, paymentLink } from "./api.js";
import { h, show } from "./dom.js";
import { showMessage } from "./messages.js";
import { act, age, badge, excerpt, head, id, pager, table, tabs } from "./parts.js";
import { dismissDead, retry } from "./payment.js";
import { customer } from "./payments.js";
import { searchSources } from "./query.js";
import { nextTry } from "./timeline.js";
import { counted, delivery as words, moment, place, timeOfDay } from "./words.js";

export const states = [
  ["", "All"], ["failing", "Failing"], ["dead", "Dead letters"], ["waiting", "Waiting"], ["in_flight", "Sending"], ["done", "Delivered"],
];

/** Endpoints by ID. Their state changes, so each refresh reads them again. */
const endpoints = new Map();
/** Order and customer of payments, which deliveries lack. They do not change, so each is read once. */
const payments = new Map();
const KNOWN_MAX = 2000;
const nameOf = (row) => `${row.account} ${row.source}`;

async function learnEndpoints(rows) {
  if (!may("endpoints:read")) return;
  const named = new Set(rows.filter((row) => !row.url).map((row) => row.endpoint));
  await Promise.all([...named].slice(0, 50).map(async (one) => {
    endpoints.set(one, await maybe(`v1/endpoints/${encodeURIComponent(one)}`));
  }));
}

async function learnPayments(rows) {
  if (!may("watches:read")) return;
  const unknown = rows.filter((row) => row.kind !== "order" && !payments.has(nameOf(row)));
  if (payments.size + unknown.length > KNOWN_MAX) payments.clear();
  const found = await searchSources([...new Set(unknown.map((row) => row.source))]);
  for (const row of unknown) payments.set(nameOf(row), null);
  for (const watch of found) payments.set(nameOf(watch), { order: watch.order, customer: customer(watch) });
}

/** Reads the endpoints and payments of deliveries. */
export const learn = (rows) => Promise.all([learnEndpoints(rows), learnPayments(rows)]);

const order = (row) => row.kind === "order" ? row.source : payments.get(nameOf(row))?.order;

/** The next attempt, or the condition it waits for. */
function nextOf(row) {
  if (row.given_up_at) return h("span", { class: "soft", title: `Dead letter since ${moment(row.given_up_at)}` }, "none");
  if (!["waiting", "failing"].includes(row.state)) return h("span", { class: "soft" }, "–");
  const endpoint = endpoints.get(row.endpoint);
  const health = endpoint?.health ?? row.endpoint_health;
  if (endpoint?.state === "disabled" || health?.paused) return h("span", { class: "soft" }, "when enabled");
  const isUnavailable = health && health.circuit !== "closed";
  return age(isUnavailable ? null : nextTry(row), isUnavailable || row.state === "failing" ? "after recovery" : "in order");
}

/** The name of a recipient; null for a removed endpoint, undefined when unknown. */
function nameOfRecipient(row) {
  const endpoint = endpoints.get(row.endpoint);
  return row.url ? place(row.url) : row.endpoint_name ? row.endpoint_name : endpoint ? endpoint.name ?? place(endpoint.url) : endpoint;
}

function recipient(row) {
  const name = nameOfRecipient(row);
  return h("a", { href: endpointLink(row.endpoint), class: "cut", title: name ?? "", "data-key": `of ${row.id}` },
    name ?? id(row.endpoint), name === null && !row.url ? h("span", { class: "soft" }, " (removed)") : "");
}

/** A button that shows what the recipient was sent. */
export const reader = (delivery, seq, key) => act("View", {
  run: () => showMessage(delivery, seq), small: true, key, title: "View the email text or the webhook body",
});

/** The attempts of one delivery, newest first. */
function attemptList(attempts, delivery) {
  if (attempts.length === 0) return h("p", { class: "empty" }, "Delivery attempts appear here. Old ones are no longer stored.");
  return h("ol", { class: "attempts" }, attempts.toReversed().map((one) => h("li", null,
    h("time", { datetime: one.at, title: moment(one.at) }, timeOfDay(one.at)),
    badge(one.outcome === "delivered" ? "Accepted" : one.outcome === "rejected" ? "Dead letter" : "Failed",
      one.outcome === "delivered" ? "good" : one.outcome === "rejected" ? "bad" : "careful"),
    h("span", { class: "grow" }, `event ${one.seq}, attempt ${one.number}`, one.reason ? `: ${one.reason}` : one.code ? `: ${one.code}` : "",
      one.address && h("span", { class: "soft" }, ` ${one.address}`),
      one.ms?.total !== null && h("span", { class: "soft" }, ` ${phases(one.ms)}`),
      one.excerpt && excerpt(one.excerpt)),
    reader(delivery.id, one.seq, `read ${delivery.id} ${one.seq} ${one.number}`))));
}

function phases(ms) {
  const parts = [["resolve", ms.resolve], ["connect", ms.connect], ["first byte", ms.first_byte]]
    .filter(([, value]) => value !== null && value !== undefined && value > 0).map(([name, value]) => `${name} ${value}`);
  return `${ms.total} ms${parts.length ? ` (${parts.join(", ")})` : ""}`;
}

function attemptsOf(row) {
  const box = h("div", null, h("p", { class: "soft" }, "Loading …"));
  let isRead = false;
  return h("details", {
    "data-key": `attempts ${row.id}`,
    ontoggle: async (event) => {
      if (!event.target.open || isRead) return;
      isRead = true;
      try {
        const { data } = await api(`v1/deliveries/${encodeURIComponent(row.id)}/attempts`);
        show(box, attemptList(data, row));
      } catch (error) {
        show(box, h("p", { class: "bad" }, error.message));
      }
    },
  }, h("summary", null, counted(row.attempts, "attempt", "attempts"), row.last_error && h("span", { class: "soft" }, ` · last: ${row.last_error}`)), box);
}

/** Deliveries as a table, each with its attempts below. */
export function deliveryTable(rows, { refresh, isOne = false, nothing = "No deliveries match this filter." }) {
  return table(isOne ? "Deliveries to this endpoint" : "Deliveries", [
    { name: "Order", cell: (row) => [h("a", {
      href: row.kind === "order" ? orderLink(row.source, row.account) : paymentLink(row),
      class: order(row) ? "row cut" : "row id cut", title: order(row) ?? row.source, "data-key": `row ${row.id}`,
    }, order(row) ?? row.source),
    h("span", { class: "soft small cut under" }, row.kind === "order" ? "order event" : payments.get(nameOf(row))?.customer ?? ""),
    // A phone hides the column of the recipient, which the user of Retry has to know.
    h("span", { class: "soft narrow whom" }, [!isOne && `to ${nameOfRecipient(row) ?? row.endpoint}`, row.account].filter(Boolean).join(" · ")),
    h("span", { class: "soft narrow" }, row.last_attempt_at && ["last attempt ", age(row.last_attempt_at)])] },
    !isOne && { name: "Recipient", wide: true, cell: recipient },
    { name: "State", why: true, cell: (row) => {
      const [word, colour] = row.state === "done" && row.attempts === 0 ? ["No events yet", "quiet"] : words(row.state);
      const dead = row.dead_seqs.length;
      return [dead > 0 && row.state !== "dead" && [badge(counted(dead, "dead letter", "dead letters"), "bad"), " "], badge(word, colour, row.last_error)];
    } },
    { name: "Last attempt", wide: true, spare: isOne, cell: (row) => age(row.last_attempt_at, "not yet") },
    { name: "Next attempt", wide: true, why: true, cell: nextOf },
    { name: "Account", wide: true, spare: true, cell: (row) => h("span", { class: "soft" }, row.account) },
    { name: "", act: true, cell: (row) => [
      retry({ ...row, state: row.dead_seqs.length ? "dead" : row.state }, refresh), " ", dismissDead(row, refresh),
    ] },
  ], rows, { nothing, below: (row) => row.attempts > 0 ? attemptsOf(row) : null });
}

/** The list of deliveries. */
export async function deliveriesPage({ query, refresh, stop }) {
  const state = query.get("state") ?? "";
  const cursor = query.get("cursor");
  const link = (which, next) => at("#/deliveries", { state: which, cursor: next });
  const page = await collect("v1/deliveries", { state, cursor, limit: 50 }, { stop });
  await learn(page.data);
  return [
    head("Deliveries", { note: "One row per payment and recipient. Events are delivered in order." }),
    h("div", { class: "bar" }, tabs("Which", states.map(([value, text]) => [value, text, link(value)]), state)),
    deliveryTable(page.data, { refresh, nothing: state ? undefined : "Deliveries appear here after the first change of a payment with recipients." }),
    pager({ ...page, cursor, href: (next) => link(state, next) }),
  ];
}
