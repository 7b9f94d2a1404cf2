// Incidents: problems of the cluster, open and resolved.

import { at, maybe } from "./api.js";
import { h } from "./dom.js";
import { age, badge, head, table, tabs } from "./parts.js";
import { plain, sentence, span, upper } from "./words.js";

const lasted = (one) => span((one.resolved_at ? new Date(one.resolved_at) : Date.now()) - new Date(one.since));

/** The list of incidents: open ones, then those that were resolved last. */
export async function incidentsPage({ query }) {
  const status = query.get("status") ?? "";
  const link = (value) => at("#/incidents", { status: value });
  const told = await maybe(at("v1/incidents", { status }));
  const title = head("Incidents", { note: "Problems of the cluster, when each began and when it was over." });
  if (!told) return [title, h("p", { class: "empty" }, "This server keeps no incidents.")];
  return [
    title,
    h("div", { class: "bar" }, tabs("Which", [["", "All"], ["open", "Open"], ["resolved", "Over"]].map(([value, text]) => [value, text, link(value)]), status)),
    table("Incidents", [
      { name: "Status", cell: (one) => one.status === "open" ? badge("Open", "bad", one.id) : badge("Over", "good", one.id) },
      { name: "What", why: true, cell: (one) => [h("p", null, sentence(one.message)),
        one.action && one.status === "open" && h("p", { class: "soft small" }, sentence(one.action))] },
      { name: "Since", cell: (one) => age(one.since) },
      { name: "Lasted", n: true, wide: true, cell: lasted },
      { name: "Opened", wide: true, cell: (one) => age(one.opened_at) },
      { name: "Over", wide: true, cell: (one) => age(one.resolved_at) },
      { name: "Kind", wide: true, cell: (one) => h("span", { class: "soft" }, upper(plain(one.kind))) },
    ], told.data, { nothing: status === "open" ? "No incident is open." : "There was no incident yet." }),
  ];
}
