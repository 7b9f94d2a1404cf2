// The quarantine: payments that could not be polled, with redrive and dismiss.

import { at, collect, may, maybe, named, paymentLink } from "./api.js";
import { actOnAll } from "./bulk.js";
import { h } from "./dom.js";
import { act, age, cut, head, id, pager, sum, table } from "./parts.js";
import { count, sentence } from "./words.js";

/** A button that dismisses a payment from quarantine. */
export const dismissal = (watch, refresh, isSmall = false) => act("Dismiss", {
  path: at(`v1/quarantine/${encodeURIComponent(watch.source)}/dismiss`, named(watch)), small: isSmall, then: refresh,
  said: `${watch.order ?? watch.source} is dismissed.`, key: `dismiss ${watch.account} ${watch.source}`,
  ask: {
    title: "Dismiss this payment?", submit: "Dismiss",
    text: ["Polling does not resume, and the warning disappears.", "The state of the payment stays unknown. Enqueue it again to watch it."],
  },
});

/** Stored entries that crashed several processes; nothing without entries or without access to them. */
function setAside(entries, refresh) {
  if (!entries?.data.length) return [];
  const end = (entry, action, said, ask) => act(action === "redrive" ? "Redrive" : "Dismiss", {
    path: `v1/quarantine/entries/${encodeURIComponent(entry.id)}/${action}`, small: true, then: refresh,
    said: `${entry.about ?? entry.id} ${said}`, key: `${action} ${entry.id}`, ask,
  });
  return [
    h("h2", null, "Stored entries"),
    h("p", { class: "soft" }, "Each entry crashed several processes. Readers skip it, and everything else continues."),
    table("Stored entries", [
      { name: "Entry", cell: (entry) => id(entry.id) },
      { name: "Reader", cell: (entry) => entry.reader },
      { name: "About", wide: true, cell: (entry) => entry.about ?? "" },
      { name: "Crashes", n: true, wide: true, cell: (entry) => count(entry.deaths) },
      { name: "Set aside", wide: true, cell: (entry) => age(entry.set_aside_at) },
      may("watches:write") && { name: "", act: true, cell: (entry) => [
        end(entry, "redrive", "is processed again."), " ",
        end(entry, "dismiss", "is dismissed.", {
          title: "Dismiss this entry?", submit: "Dismiss",
          text: ["Its reader never processes it.", "An event stays in the timeline of its payment, and recipients get it with the next event."],
        }),
      ] },
    ], entries.data, { key: (entry) => entry.id, nothing: "" }),
  ];
}

/** The list of payments in quarantine. */
export async function quarantinePage({ query, refresh }) {
  const cursor = query.get("cursor");
  const [page, entries] = await Promise.all([
    collect("v1/quarantine", { limit: 50, cursor }),
    may("cluster:read") ? maybe("v1/quarantine/entries") : null,
  ]);
  return [
    head("Quarantine", {
      note: "Payments whose polls failed repeatedly. They are not polled until you redrive them.",
      tools: may("watches:write") && page.data.length > 1 &&
        h("button", { type: "button", "data-key": "all", onclick: async () => { await actOnAll("state=quarantined"); refresh(); } }, "Bulk action …"),
    }),
    table("Quarantine", [
      { name: "Order", cell: (watch) => watch.order ? cut(watch.order) : id(watch.source) },
      { name: "Reason", why: true, whole: true, cell: (watch) => sentence(watch.last_error ?? "polling it crashed the worker") },
      { name: "Amount", n: true, wide: true, cell: (watch) => sum(watch.payment) },
      { name: "Account", wide: true, cell: (watch) => h("span", { class: "soft" }, watch.account) },
      { name: "Polls", n: true, wide: true, cell: (watch) => count(watch.attempts) },
      { name: "Last polled", wide: true, cell: (watch) => age(watch.last_polled_at) },
      may("watches:write") && { name: "", act: true, cell: (watch) => [
        act("Redrive", {
          path: at(`v1/quarantine/${encodeURIComponent(watch.source)}/redrive`, named(watch)), small: true, then: refresh,
          said: `${watch.order ?? watch.source} is polled again.`, key: `redrive ${watch.account} ${watch.source}`,
        }), " ", dismissal(watch, refresh, true),
      ] },
    ], page.data, { link: paymentLink, key: (watch) => `${watch.account} ${watch.source}`, nothing: "No payments in quarantine. Payments appear here when their polls fail repeatedly." }),
    pager({ ...page, cursor, href: (next) => at("#/quarantine", { cursor: next }) }),
    ...setAside(entries, refresh),
  ];
}
