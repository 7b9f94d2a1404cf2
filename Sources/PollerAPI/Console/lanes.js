// The lanes: what each holds, and stopping, resuming and limiting them; and what their accounts have.

import { api, at, may, maybe, post } from "./api.js";
import { dialog, labelled } from "./dialogs.js";
import { h } from "./dom.js";
import { act, badge, card, head, id, pager, table } from "./parts.js";
import { count, limit, span, timeOfDay } from "./words.js";
import { laneBadge } from "./worries.js";

// The slash of a lane is one segment of the path.
const path = (lane, part) => `v1/lanes/${encodeURIComponent(lane.id)}/${part}`;

async function change(lane, refresh) {
  const now = lane.limit;
  const changed = await dialog({
    title: `Limit of ${lane.id}`, submit: "Save",
    body: [
      labelled("Polls a second", h("input", { name: "rate", type: "number", min: 0, step: "any", value: String(now.rate) }), "0 is no limit."),
      labelled("Burst", h("input", { name: "burst", type: "number", min: 1, value: String(now.burst) })),
      labelled("At once", h("input", { name: "concurrency", type: "number", min: 1, value: String(now.concurrency) })),
      !now.default && h("label", { class: "check" }, h("input", { type: "checkbox", name: "default" }), " The default again"),
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
      ? `${count(lane.overdue)} of ${count(lane.waiting)} behind (${span(lane.overdue_ms)})` : `${count(lane.waiting)} waiting`)];
}

// So many of as many as there may be; what is at its limit takes nothing new.
function held(now, most) {
  if (most === null) return count(now);
  const text = `${count(now)} of ${count(most)}`;
  return now >= most ? badge(text, "careful", "At its limit: nothing new is taken.") : text;
}

/** What the accounts have, the first hundred of them. */
function accountsCard(accounts) {
  return card({ title: "Accounts", note: accounts.has_more ? "the first 100" : null },
    table("Accounts", [
      { name: "Account", why: true, cell: (account) => id(account.id) },
      { name: "Open watches", n: true, cell: (account) => held(account.open, account.open_max) },
      { name: "Endpoints", n: true, cell: (account) => held(account.endpoints, account.endpoints_max) },
    ], accounts.data, { nothing: "No account has had a watch." }));
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
    head("Lanes", { note: "A lane is an account at an upstream. It keeps that upstream's limits; what holds things up comes first." }),
    table("Lanes", [
      { name: "Lane", why: true, cell: (lane) => id(lane.id) },
      { name: "State", cell: (lane) => state(lane, stats?.workers) },
      { name: "Behind", n: true, wide: true, cell: (lane) => lane.overdue ? `${count(lane.overdue)} (${span(lane.overdue_ms)})` : "0" },
      { name: "Waiting", n: true, wide: true, cell: (lane) => count(lane.waiting) },
      { name: "In flight", n: true, wide: true, cell: (lane) => count(lane.in_flight) },
      { name: "Limit", wide: true, cell: (lane) => h("span", { class: "soft" }, limit(lane.limit), lane.limit.default ? "" : " (its own)") },
      may("lanes:write") && { name: "", act: true, cell: (lane) => [
        isStopped(lane) ? act("Resume", { path: path(lane, "resume"), small: true, then: refresh, said: `${lane.id} goes on.`, key: `go ${lane.id}` })
          : act("Pause", {
            path: path(lane, "pause"), small: true, then: refresh, said: `${lane.id} is paused.`, key: `go ${lane.id}`,
            ask: { title: `Pause ${lane.id}?`, submit: "Pause it", text: "Nothing of it is looked at until somebody resumes it; what changes meanwhile is told late." },
          }),
        h("button", { type: "button", class: "small wide", "data-key": `limit ${lane.id}`, onclick: () => change(lane, refresh) }, "Limit …"),
      ] },
    ], page.data, { nothing: "No lane holds anything." }),
    pager({ ...page, next: page.has_more ? page.next : null, cursor, href: (next) => at("#/lanes", { cursor: next }) }),
    accounts && accountsCard(accounts),
  ];
}
