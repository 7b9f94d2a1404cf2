// Who works on the cluster, and what the doctor says of it.

import { api, maybe } from "./api.js";
import { h } from "./dom.js";
import { act, age, badge, card, head, table } from "./parts.js";
import { count, sentence } from "./words.js";

/** The doctor asks the upstreams too: asked when the page is opened, and when somebody wants it. */
let checks = null;
const LATE_MS = 60000;
let askedAt = 0;

async function ask() {
  checks = await api("v1/doctor");
  askedAt = Date.now();
}

/** The list of processes and checks. */
export async function processesPage({ refresh }) {
  const isLate = Date.now() - askedAt > LATE_MS;
  const [workers, departed] = await Promise.all([api("v1/workers"), maybe("v1/workers/departed"), isLate ? ask() : null]);
  const colours = { ok: ["OK", "good"], warning: ["Warning", "careful"], failed: ["Failed", "bad"] };
  const roles = ["worker", "notifier"].filter((role) => !workers.data.some((one) => one.roles.includes(role)));
  return [
    head("Processes", { tools: act("Check again", { run: ask, then: refresh, key: "doctor" }) }),
    roles.length > 0 && h("p", { class: "failure bad", role: "alert" }, `No ${roles.join(" and no ")} is alive: start one with ${roles.map((role) => `pollerd ${role}`).join(" and ")}.`),
    table("Processes", [
      { name: "Host", cell: (one) => `${one.host} (${one.pid})` },
      { name: "Roles", cell: (one) => one.roles.join(", ") },
      { name: "In hand", n: true, cell: (one) => count(one.in_flight) },
      { name: "Version", wide: true, cell: (one) => h("span", { class: "soft" }, one.version) },
      { name: "Up since", wide: true, cell: (one) => age(one.started_at) },
      { name: "Id", wide: true, cell: (one) => h("span", { class: "id soft" }, one.id) },
    ], workers.data, { nothing: "No process is alive but this server." }),
    departed?.data.length > 0 && card("Departed in the last 24 hours", table("Departed processes", [
      { name: "How", cell: (one) => one.how === "lost" ? badge("Lost", "bad", "It fell silent: killed, crashed or cut off from Redis")
        : badge("Shut down", "", "It took itself off the list") },
      { name: "Left", cell: (one) => age(one.departed_at) },
      { name: "Host", cell: (one) => `${one.process.host} (${one.process.pid})` },
      { name: "Roles", cell: (one) => one.process.roles.join(", ") },
      { name: "Up since", wide: true, cell: (one) => age(one.process.started_at) },
      { name: "Id", wide: true, cell: (one) => h("span", { class: "id soft" }, one.process.id) },
    ], departed.data, { key: (one) => one.process.id })),
    card("Doctor", h("ul", { class: "checks" }, checks.checks.map((check) => {
      const [word, colour] = colours[check.status] ?? [check.status, ""];
      return h("li", null, badge(word, colour), h("div", null,
        h("p", null, h("strong", null, check.name), " ", check.message),
        check.action && h("p", { class: "soft" }, sentence(check.action))));
    }))),
  ];
}
