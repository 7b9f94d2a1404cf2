// The processes of the cluster.

import { api, maybe } from "./api.js";
import { h } from "./dom.js";
import { age, badge, card, head, table } from "./parts.js";
import { count } from "./words.js";

/** The list of running processes, and of those that ended within 24 hours. */
export async function processesPage() {
  const [workers, departed] = await Promise.all([api("v1/workers"), maybe("v1/workers/departed")]);
  const roles = ["worker", "notifier"].filter((role) => !workers.data.some((one) => one.roles.includes(role)));
  return [
    head("Processes", { note: "Workers poll payments. Notifiers deliver events.", tools: h("a", { class: "button", href: "#/health" }, "Health checks") }),
    roles.length > 0 && h("p", { class: "failure bad", role: "alert" }, `No ${roles.join(" and no ")} is running. Start one with ${roles.map((role) => `pollerd ${role}`).join(" and ")}.`),
    table("Processes", [
      { name: "Host", cell: (one) => `${one.host} (${one.pid})` },
      { name: "Roles", cell: (one) => one.roles.join(", ") },
      { name: "In flight", n: true, said: true, cell: (one) => count(one.in_flight) },
      { name: "Version", wide: true, cell: (one) => h("span", { class: "soft" }, one.version) },
      { name: "Up since", wide: true, cell: (one) => age(one.started_at) },
      { name: "ID", wide: true, cell: (one) => h("span", { class: "id soft" }, one.id) },
    ], workers.data, { nothing: "Running workers and notifiers appear here. Start them with pollerd worker and pollerd notifier." }),
    departed?.data.length > 0 && card("Ended in the last 24 hours", table("Ended processes", [
      { name: "Reason", cell: (one) => one.how === "lost" ? badge("Lost", "bad", "No heartbeat: it was killed, crashed or lost Redis")
        : badge("Shut down", "", "It shut down cleanly") },
      { name: "Ended", cell: (one) => age(one.departed_at) },
      { name: "Host", cell: (one) => `${one.process.host} (${one.process.pid})` },
      { name: "Roles", cell: (one) => one.process.roles.join(", ") },
      { name: "Up since", wide: true, cell: (one) => age(one.process.started_at) },
      { name: "ID", wide: true, cell: (one) => h("span", { class: "id soft" }, one.process.id) },
    ], departed.data, { key: (one) => one.process.id })),
  ];
}
