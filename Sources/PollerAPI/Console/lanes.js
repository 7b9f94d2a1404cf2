// Lanes: state, pause, resume and limits; and the usage of accounts.

import { api, at, may, maybe, post } from "./api.js";
import { dialog, labelled } from "./dialogs.js";
import { h } from "./dom.js";
import { laneBadge } from "./issues.js";
import { act, badge, card, head, id, pager, table } from "./parts.js";
import { count, limit, span, timeOfDay } from "./words.js";

// The slash in a lane's ID is encoded, so that the ID is one path segment.
const path = (lane, part) => `v1/lanes/${encodeURIComponent(lane.id)}/${part}`;

async function change(lane, refresh) {
  const now = lane.limit;
  const changed = await dialog({
    title: `Limit of ${lane.id}`, submit: "Save",
    body: [
      labelled("Polls per second", h("input", { name: "rate", type: "number", min: 0, step: "any", value: String(now.rate) }), "0: no limit."),
      labelled("Burst", h("input", { name: "burst", type: "number", min: 1, value: String(now.burst) })),
      labelled("Concurrency", h("input", { name: "concurrency", type: "number", min: 1, value: String(now.concurrency) })),
      !now.default && h("label", { class: "check" }, h("input", { type: "checkbox", name: "default" }), " Reset to default"),
    ],
    done: (form) => {
      const { rate, burst, concurrency } = form.elements;
      return post(path(lane, "limit"), form.elements.default?.checked ? { default: true }
        : { rate: Number(rate.value), burst: Number(burst.value), concurrency: Number(concurrency.value) });
    },
  });
  if (changed) refresh();
}

function state(lane, workers) {
  const [word, colour] = laneBadge(lane, workers);
  const until = lane.held_until ? ` until ${timeOfDay(lane.held_until)}` : "";
  const factor = lane.factor < 1 ? ` at ${Math.round(lane.factor * 100)} %` : "";
  return [badge(word + until + factor, colour, lane.failures ? `${lane.failures} failures in a row` : null),
    lane.waiting > 0 && h("span", { class: "soft narrow" }, lane.overdue > 0
      ? `${count(lane.overdue)} of ${count(lane.waiting)} overdue (${span(lane.overdue_ms)})` : `${count(lane.waiting)} waiting`)];
}

// The usage of a limit, highlighted when it is reached.
function usage(now, most) {
  if (most === null) return count(now);
  const text = `${count(now)} of ${count(most)}`;
  return now >= most ? badge(text, "careful", "Limit reached. New requests are rejected.") : text;
}

/** The usage of the first hundred accounts. */
function accountsCard(accounts) {
  return card({ title: "Accounts", note: accounts.has_more ? "first 100" : null },
    table("Accounts", [
      { name: "Account", why: true, cell: (account) => id(account.id) },
      { name: "Open watches", n: true, cell: (account) => usage(account.open, account.open_max) },
      { name: "Endpoints", n: true, cell: (account) => usage(account.endpoints, account.endpoints_max) },
    ], accounts.data, { isSmall: true, nothing: "Accounts appear here after their first watch." }));
}

/** The list of lanes. */
export async function lanesPage({ query, refresh }) {
  const cursor = query.get("cursor");
  const [page, stats, accounts] = await Promise.all([
    api(at("v1/lanes", { limit: 100, cursor })), may("cluster:read") ? maybe("v1/stats") : null,
    cursor ? null : api(at("v1/accounts", { limit: 100 })),
  ]);
  const isStopped = (lane) => !["flowing", "slowed"].includes(lane.state);
  return [
    head("Lanes", { note: "A lane polls one account at one upstream, within its rate limit. Lanes with overdue payments come first." }),
    table("Lanes", [
      { name: "Lane", why: true, cell: (lane) => id(lane.id) },
      { name: "State", cell: (lane) => state(lane, stats?.workers) },
      { name: "Overdue", n: true, wide: true, cell: (lane) => lane.overdue ? `${count(lane.overdue)} (${span(lane.overdue_ms)})` : "0" },
      { name: "Waiting", n: true, wide: true, cell: (lane) => count(lane.waiting) },
      { name: "In flight", n: true, wide: true, cell: (lane) => count(lane.in_flight) },
      { name: "Limit", wide: true, cell: (lane) => h("span", { class: "soft" }, limit(lane.limit), lane.limit.default ? "" : " (custom)") },
      may("lanes:write") && { name: "", act: true, cell: (lane) => [
        isStopped(lane) ? act("Resume", { path: path(lane, "resume"), small: true, then: refresh, said: `${lane.id} is resumed.`, key: `go ${lane.id}` })
          : act("Pause", {
            path: path(lane, "pause"), small: true, then: refresh, said: `${lane.id} is paused.`, key: `go ${lane.id}`,
            ask: { title: `Pause ${lane.id}?`, submit: "Pause lane", text: "Its payments are not polled until you resume it. Changes in the meantime are reported late." },
          }),
        h("button", { type: "button", class: "small", "data-key": `limit ${lane.id}`, onclick: () => change(lane, refresh) }, "Limit …"),
      ] },
    ], page.data, { nothing: "Lanes appear here when payments are watched." }),
    pager({ ...page, next: page.has_more ? page.next : null, cursor, href: (next) => at("#/lanes", { cursor: next }) }),
    accounts && accountsCard(accounts),
  ];
}
