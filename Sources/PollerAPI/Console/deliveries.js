// What was sent to whom, what failed and why, and to send it again.

import { api, at, collect, endpointLink, may, maybe, paymentLink } from "./api.js";
import { h, show } from "./dom.js";
import { age, badge, head, id, pager, table, tabs } from "./parts.js";
import { retry } from "./payment.js";
import { nextTry } from "./timeline.js";
import { counted, delivery as words, moment, place, timeOfDay } from "./words.js";

export const states = [
  ["", "All"], ["failing", "Failing"], ["dead", "Given up"], ["waiting", "Waiting"], ["in_flight", "Being sent"], ["done", "Delivered"],
];

const names = new Map();
/** The URLs of registered endpoints, which deliveries do not tell: looked up once each. */
async function learn(rows) {
  if (!may("endpoints:read")) return;
  const unknown = new Set(rows.filter((row) => !row.url && !names.has(row.endpoint)).map((row) => row.endpoint));
  await Promise.all([...unknown].slice(0, 50).map(async (one) => {
    const told = await maybe(`/v1/endpoints/${encodeURIComponent(one)}`);
    names.set(one, told ? told.name ?? place(told.url) : null);
  }));
}

function receiver(row) {
  const name = row.url ? place(row.url) : names.get(row.endpoint);
  return h("a", { href: endpointLink(row.endpoint), title: name ?? "", "data-key": `of ${row.id}` },
    name ?? id(row.endpoint), name === null && !row.url ? h("span", { class: "soft" }, " (removed)") : "");
}

/** What was tried of one delivery, the newest first. */
function attemptList(attempts) {
  if (attempts.length === 0) return h("p", { class: "empty" }, "Nothing was tried yet, or it is forgotten.");
  return h("ol", { class: "attempts" }, attempts.toReversed().map((one) => h("li", null,
    h("time", { datetime: one.at, title: moment(one.at) }, timeOfDay(one.at)),
    badge(one.outcome === "delivered" ? "Accepted" : one.outcome === "rejected" ? "Given up" : "Failed",
      one.outcome === "delivered" ? "good" : one.outcome === "rejected" ? "bad" : "careful"),
    h("span", { class: "grow" }, `event ${one.seq}, attempt ${one.number}`, one.reason ? `: ${one.reason}` : one.code ? `: ${one.code}` : "",
      one.address && h("span", { class: "soft" }, ` ${one.address}`),
      one.ms?.total !== null && h("span", { class: "soft" }, ` ${phases(one.ms)}`),
      one.excerpt && h("code", { class: "excerpt" }, one.excerpt)))));
}

function phases(ms) {
  const parts = [["resolve", ms.resolve], ["connect", ms.connect], ["first byte", ms.first_byte]]
    .filter(([, value]) => value !== null && value !== undefined && value > 0).map(([name, value]) => `${name} ${value}`);
  return `${ms.total} ms${parts.length ? ` (${parts.join(", ")})` : ""}`;
}

function attemptsOf(row) {
  const box = h("div", null, h("p", { class: "soft" }, "Reading …"));
  let isRead = false;
  return h("details", {
    "data-key": `attempts ${row.id}`,
    ontoggle: async (event) => {
      if (!event.target.open || isRead) return;
      isRead = true;
      try {
        const { data } = await api(`/v1/deliveries/${encodeURIComponent(row.id)}/attempts`);
        show(box, attemptList(data));
      } catch (error) {
        show(box, h("p", { class: "bad" }, error.message));
      }
    },
  }, h("summary", null, counted(row.attempts, "attempt", "attempts"), row.last_error && h("span", { class: "soft" }, ` · last: ${row.last_error}`)), box);
}

/** Deliveries as a table, each with its attempts below. */
export function deliveryTable(rows, { refresh, isOne = false }) {
  return table("Deliveries", [
    { name: "Payment", cell: (row) => h("a", {
      href: row.kind === "order" ? `#/orders/${encodeURIComponent(row.source)}` : paymentLink(row), class: "row id cut", title: row.source,
      "data-key": `row ${row.id}`,
    }, row.source) },
    !isOne && { name: "Receiver", wide: true, cell: receiver },
    { name: "State", cell: (row) => {
      const [word, colour] = words(row.state);
      const dead = row.dead_seqs.length;
      return [badge(word, colour, row.last_error), dead > 0 && row.state !== "dead" && h("span", { class: "bad" }, ` ${dead} given up`)];
    } },
    { name: "Next", wide: true, cell: (row) => ["waiting", "failing"].includes(row.state)
      ? age(nextTry(row), row.state === "failing" ? "when it answers" : "in its turn") : h("span", { class: "soft" }, "–") },
    { name: "Account", wide: true, cell: (row) => h("span", { class: "soft" }, row.account) },
    { name: "", act: true, cell: (row) => retry({ ...row, state: row.dead_seqs.length ? "dead" : row.state }, refresh) },
  ], rows, { nothing: "No delivery is like that.", below: (row) => row.attempts > 0 ? attemptsOf(row) : null });
}

/** The list of deliveries. */
export async function deliveriesPage({ query, refresh }) {
  const state = query.get("state") ?? "";
  const cursor = query.get("cursor");
  const link = (which, next) => at("#/deliveries", { state: which, cursor: next });
  const page = await collect("/v1/deliveries", { state, cursor, limit: 50 });
  await learn(page.data);
  return [
    head("Deliveries", { note: "One for each payment and receiver: what it was told, in order." }),
    h("div", { class: "bar" }, tabs("Which", states.map(([value, text]) => [value, text, link(value)]), state)),
    deliveryTable(page.data, { refresh }),
    pager({ ...page, cursor, href: (next) => link(state, next) }),
  ];
}
