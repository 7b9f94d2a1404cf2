// What is wrong, in one list: what the doctor says, and what the counts and lists tell beside it.

import { count, counted, span } from "./words.js";

/** Beyond a lease and a second nothing waits while a worker lives, unless its lane makes it wait. */
const LATE_MS = 15000;

// Where to mend what a check of the doctor has found.
const places = {
  workers: "#/processes", notifiers: "#/processes", backlog: "#/lanes", lanes: "#/lanes",
  quarantine: "#/quarantine", outbox: "#/processes", deliveries: "#/deliveries?state=failing",
  endpoints: "#/endpoints",
};

const worry = (key, colour, text, todo, href, label) => ({ key, colour, text, todo, href, label });

function ofStats({ workers, notifiers, lanes, watches, deliveries, quarantined, oldest_overdue_ms: oldest }) {
  const open = watches.pending + watches.leased;
  const stopped = [
    ["open", "bad", "gets no answer from the upstream", "get no answer from the upstream"],
    ["paused", "careful", "is paused", "are paused"],
    ["probing", "careful", "is probed after failures", "are probed after failures"],
    ["held", "careful", "waits as the upstream has asked", "wait as the upstream has asked"],
    ["slowed", "careful", "is slowed by the upstream", "are slowed by the upstream"],
  ].filter(([state]) => lanes?.[state] > 0);
  return [
    workers === 0 && worry("workers", "bad",
      `No worker is alive${open ? `: ${counted(open, "payment is", "payments are")} not looked at` : ""}.`,
      "Start one: pollerd worker", "#/processes", "Processes"),
    notifiers === 0 && worry("notifiers", "bad",
      `No notifier is alive: nobody is told what happens${watches.undelivered ? `, ${count(watches.undelivered)} events wait` : ""}.`,
      "Start one: pollerd notifier; nothing is lost meanwhile", "#/processes", "Processes"),
    oldest > LATE_MS && worry("backlog", oldest > 60000 ? "bad" : "careful",
      `${counted(watches.overdue, "payment is", "payments are")} behind, the oldest by ${span(oldest)}.`,
      "See which lane holds them up", "#/lanes", "Lanes"),
    ...stopped.map(([state, colour, one, many]) => worry("lanes", colour,
      `${counted(lanes[state], `lane ${one}`, `lanes ${many}`)}.`, null, "#/lanes", "Lanes")),
    quarantined > 0 && worry("quarantine", "careful",
      `${counted(quarantined, "payment is", "payments are")} in quarantine: ${quarantined === 1 ? "it" : "they"} could not be looked at.`,
      "See why, and redrive", "#/quarantine", "Quarantine"),
    watches.undelivered > 1000 && notifiers > 0 && worry("outbox", "careful",
      `${count(watches.undelivered)} events wait: the notifiers do not keep up.`,
      "Start more of them", "#/processes", "Processes"),
  ].filter(Boolean);
}

function ofEndpoints(endpoints) {
  const disabled = endpoints.filter((one) => one.state === "disabled");
  const silent = endpoints.filter((one) => one.state !== "disabled" && one.health && one.health.circuit !== "closed");
  const failing = endpoints.filter((one) =>
    one.state !== "disabled" && one.health?.circuit === "closed" && one.health.failing_since);
  const names = (list) => list.slice(0, 2).map((one) => one.name ?? one.url).join(", ")
    + (list.length > 2 ? ` and ${list.length - 2} more` : "");
  const link = (list) => list.length === 1 ? `#/endpoints/${encodeURIComponent(list[0].id)}` : "#/endpoints";
  return [
    disabled.length && worry("endpoints", "bad",
      `${counted(disabled.length, "endpoint is", "endpoints are")} disabled and told nothing: ${names(disabled)}.`,
      "Test it, then enable it", link(disabled), "Endpoints"),
    silent.length && worry("endpoints held", "bad",
      `${counted(silent.length, "endpoint does", "endpoints do")} not answer and ${silent.length === 1 ? "is" : "are"} held: ${names(silent)}.`,
      "It is probed by itself; its deliveries wait and lose no attempt", link(silent), "Endpoints"),
    failing.length && worry("endpoints failing", "careful",
      `${counted(failing.length, "endpoint fails", "endpoints fail")} now: ${names(failing)}.`,
      "See its attempts", link(failing), "Endpoints"),
  ].filter(Boolean);
}

function ofDeliveries({ dead, failing }) {
  const some = (list) => `${count(list.data.length)}${list.next ? " or more" : ""}`;
  return [
    dead?.data.length && worry("dead", "bad",
      `${some(dead)} ${dead.data.length === 1 ? "delivery has" : "deliveries have"} given up at least one event.`,
      "Mend the receiver, then send again", "#/deliveries?state=dead", "Given up"),
    failing?.data.length && worry("failing", "careful",
      `${some(failing)} ${failing.data.length === 1 ? "delivery fails" : "deliveries fail"} and ${failing.data.length === 1 ? "is" : "are"} tried again.`,
      null, "#/deliveries?state=failing", "Failing"),
  ].filter(Boolean);
}

// What a check of the doctor is about, when something above says it better.
const saidBy = {
  workers: ["workers"], notifiers: ["notifiers"], backlog: ["backlog"], lanes: ["lanes"],
  quarantine: ["quarantine"], outbox: ["outbox", "notifiers"], endpoints: ["endpoints"],
  deliveries: ["dead", "failing", "endpoints held", "endpoints failing"],
};

/**
 * Everything that is wrong, the worst first; empty only when everything was looked at and is well.
 *
 * What could not be looked at (`null`) is no worry and no comfort: see `isKnown`.
 */
export function worries({ stats, doctor, endpoints, deliveries }) {
  const found = [
    ...(stats ? ofStats(stats) : []), ...(endpoints ? ofEndpoints(endpoints) : []),
    ...(deliveries ? ofDeliveries(deliveries) : []),
  ];
  const said = new Set(found.map((one) => one.key));
  for (const check of doctor?.checks ?? []) {
    if (check.status === "ok" || saidBy[check.name]?.some((key) => said.has(key))) continue;
    found.push(worry(check.name, check.status === "failed" ? "bad" : "careful",
      `${check.name.charAt(0).toUpperCase()}${check.name.slice(1)}: ${check.message}.`, check.action,
      places[check.name] ?? "#/processes", "Details"));
  }
  return found.sort((a, b) => (a.colour === "bad" ? 0 : 1) - (b.colour === "bad" ? 0 : 1));
}
