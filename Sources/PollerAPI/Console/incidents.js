// Incidents: problems of the cluster, open and resolved.

import { at, maybe } from "./api.js";
import { h } from "./dom.js";
import { age, badge, head, table, tabs } from "./parts.js";
import { plain, sentence, span, upper } from "./words.js";

const duration = (one) => span((one.resolved_at ? new Date(one.resolved_at) : Date.now()) - new Date(one.since));

/** The list of incidents: open ones, then the recently resolved. */
export async function incidentsPage({ query }) {
  const status = query.get("status") ?? "";
  const link = (value) => at("#/incidents", { status: value });
  const page = await maybe(at("v1/incidents", { status }));
  const title = head("Incidents", { note: "Problems of the cluster with their start and end." });
  if (!page) return [title, h("p", { class: "empty" }, "Incidents appear here when the server records them. This server does not.")];
  return [
    title,
    h("div", { class: "bar" }, tabs("Which", [["", "All"], ["open", "Open"], ["resolved", "Resolved"]].map(([value, text]) => [value, text, link(value)]), status)),
    table("Incidents", [
      { name: "Status", cell: (one) => one.status === "open" ? badge("Open", "bad", one.id) : badge("Resolved", "good", one.id) },
      { name: "Problem", why: true, whole: true, cell: (one) => [h("p", null, sentence(one.message)),
        one.action && one.status === "open" && h("p", { class: "soft small" }, sentence(one.action))] },
      { name: "Since", said: true, cell: (one) => age(one.since) },
      { name: "Duration", n: true, wide: true, cell: duration },
      { name: "Opened", wide: true, cell: (one) => age(one.opened_at) },
      { name: "Resolved", wide: true, cell: (one) => age(one.resolved_at) },
      { name: "Kind", wide: true, cell: (one) => h("span", { class: "soft" }, upper(plain(one.kind))) },
    ], page.data, { nothing: status === "open" ? "No open incidents." : "No incidents yet. Problems of the cluster appear here." }),
  ];
}
