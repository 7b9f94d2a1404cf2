// What could not be looked at, why, and to try again.

import { at, collect, may, maybe, named, paymentLink } from "./api.js";
import { actOnAll } from "./bulk.js";
import { h } from "./dom.js";
import { act, age, head, id, pager, sum, table } from "./parts.js";
import { count } from "./words.js";

/** Takes a payment out of quarantine for good. */
export const dismissal = (watch, refresh, isSmall = false) => act("Dismiss", {
  path: at(`v1/quarantine/${encodeURIComponent(watch.source)}/dismiss`, named(watch)), small: isSmall, then: refresh,
  said: `${watch.order ?? watch.source} is out of quarantine.`, key: `dismiss ${watch.account} ${watch.source}`,
  ask: {
    title: "Dismiss this payment?", submit: "Dismiss",
    text: ["It is not looked at any more, and nobody is warned of it.", "What became of the money stays unknown here; enqueued anew it is watched again."],
  },
});

/** The stored entries that have ended several processes; nothing for a key that may not see them, or without any. */
function setAside(entries, refresh) {
  if (!entries?.data.length) return [];
  const end = (entry, action, said, ask) => act(action === "redrive" ? "Redrive" : "Dismiss", {
    path: `v1/quarantine/entries/${encodeURIComponent(entry.id)}/${action}`, small: true, then: refresh,
    said: `${entry.about ?? entry.id} ${said}`, key: `${action} ${entry.id}`, ask,
  });
  return [
    h("h2", null, "Stored entries"),
    h("p", { class: "soft" }, "Each has ended several processes. No reader handles it any more, and everything else continues."),
    table("Stored entries", [
      { name: "Entry", cell: (entry) => id(entry.id) },
      { name: "Reader", cell: (entry) => entry.reader },
      { name: "About", wide: true, cell: (entry) => entry.about ?? "" },
      { name: "Deaths", n: true, wide: true, cell: (entry) => count(entry.deaths) },
      { name: "Set aside", wide: true, cell: (entry) => age(entry.set_aside_at) },
      may("watches:write") && { name: "", act: true, cell: (entry) => [
        end(entry, "redrive", "is handled again."), " ",
        end(entry, "dismiss", "is dropped.", {
          title: "Dismiss this entry?", submit: "Dismiss",
          text: ["Its reader never handles it.", "An event stays in the timeline of its payment, and recipients get it with the next event."],
        }),
      ] },
    ], entries.data, { key: (entry) => entry.id, nothing: "" }),
  ];
}

/** The list of what is in quarantine. */
export async function quarantinePage({ query, refresh }) {
  const cursor = query.get("cursor");
  const [page, entries] = await Promise.all([
    collect("v1/quarantine", { limit: 50, cursor }),
    may("cluster:read") ? maybe("v1/quarantine/entries") : null,
  ]);
  return [
    head("Quarantine", {
      note: "Payments that could not be looked at. Nothing more is done about them until somebody redrives or dismisses them.",
      tools: may("watches:write") && page.data.length > 1 &&
        h("button", { type: "button", "data-key": "all", onclick: async () => { await actOnAll("state=quarantined"); refresh(); } }, "Act on all …"),
    }),
    table("Quarantine", [
      { name: "Order", cell: (watch) => watch.order ?? id(watch.source) },
      { name: "Why", why: true, cell: (watch) => watch.last_error ?? "looking at it took the worker down" },
      { name: "Amount", n: true, wide: true, cell: (watch) => sum(watch.payment) },
      { name: "Account", wide: true, cell: (watch) => h("span", { class: "soft" }, watch.account) },
      { name: "Looks", n: true, wide: true, cell: (watch) => count(watch.attempts) },
      { name: "Last look", wide: true, cell: (watch) => age(watch.last_polled_at) },
      may("watches:write") && { name: "", act: true, cell: (watch) => [
        act("Redrive", {
          path: at(`v1/quarantine/${encodeURIComponent(watch.source)}/redrive`, named(watch)), small: true, then: refresh,
          said: `${watch.order ?? watch.source} is watched again.`, key: `redrive ${watch.account} ${watch.source}`,
        }), " ", dismissal(watch, refresh, true),
      ] },
    ], page.data, { link: paymentLink, key: (watch) => `${watch.account} ${watch.source}`, nothing: "It is empty, as it should be." }),
    pager({ ...page, cursor, href: (next) => at("#/quarantine", { cursor: next }) }),
    ...setAside(entries, refresh),
  ];
}
