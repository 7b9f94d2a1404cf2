// What is wrong, in one list: what the doctor says, and what the counts and lists tell beside it.

import { count, counted, lane as laneWords, span } from "./words.js";

/** What an upstream does that a lane is stopped for, in a sentence and in a word. */
const failures = {
  denied: ["refuses our credentials", "Credentials refused"], errors: ["answers with errors", "Errors"],
  silent: ["does not answer", "No answer"],
};
const fails = (lane) => failures[lane.failure] ?? ["fails", "Failing"];

/** How a lane stands, in a word and its colour: one that is stopped says what its upstream does. */
export const laneBadge = (lane, workers) => lane.state === "open" ? [fails(lane)[1], "bad"] : laneWords(lane.state, workers);

/** What is said of a lane that does not flow, and of several. */
const stops = {
  open: ["bad", "is stopped", "are stopped because their upstream fails"],
  paused: ["careful", "is paused", "are paused"],
  probing: ["careful", "is probed after failures", "are probed after failures"],
  held: ["careful", "waits as the upstream has asked", "wait as the upstream has asked"],
  slowed: ["careful", "is slowed by the upstream", "are slowed by the upstream"],
};
/** Lanes of a state that are named; the rest is counted. */
const NAMED = 3;

/** Beyond a lease and a second nothing waits while a worker lives, unless its lane makes it wait. */
const LATE_MS = 15000;

// Where to mend what a check of the doctor has found.
const places = {
  workers: "#/processes", notifiers: "#/processes", backlog: "#/lanes", lanes: "#/lanes",
  quarantine: "#/quarantine", "set aside": "#/quarantine", outbox: "#/processes", deliveries: "#/deliveries?state=failing",
  endpoints: "#/endpoints", credentials: "#/payments?q=state%3Dopen%20error%3Drefused",
};

const worry = (key, colour, text, todo, href, label) => ({ key, colour, text, todo, href, label });

/** Lanes that do not flow, each with what waits in it: what stands still is the cause of what is late. */
function ofLanes(lanes, counts) {
  return Object.entries(stops).flatMap(([state, [colour, one, many]]) => {
    const those = lanes.filter((lane) => lane.state === state).toSorted((a, b) => b.overdue_ms - a.overdue_ms);
    const rest = (counts?.[state] ?? those.length) - Math.min(those.length, NAMED);
    return [
      ...those.slice(0, NAMED).map((lane) => worry(lane.overdue ? "late lanes" : "lanes", colour,
        `Lane ${lane.id} ${one}${state === "open" ? ` because the upstream ${fails(lane)[0]}` : ""}${lane.overdue ? `: ${counted(lane.overdue, "payment waits", "payments wait")}, the oldest ${span(lane.overdue_ms)}` : ""}.`,
        state === "paused" ? "Somebody has stopped it: resume it when it may go on" : null, "#/lanes", "Lanes")),
      rest > 0 && worry("lanes", colour, `${counted(rest, `more lane ${one}${state === "open" ? " because its upstream fails" : ""}`, `more lanes ${many}`)}.`, null, "#/lanes", "Lanes"),
    ];
  }).filter(Boolean);
}

/** What is late where nothing stops it; null when that is not known because not every lane was looked at. */
function moving(lanes, counts) {
  if (!lanes || lanes.length < (counts?.total ?? 0)) return null;
  const flowing = lanes.filter((lane) => ["flowing", "slowed"].includes(lane.state));
  return {
    late: flowing.reduce((sum, lane) => sum + lane.overdue, 0), oldest: Math.max(0, ...flowing.map((lane) => lane.overdue_ms)),
  };
}

function ofStats({ workers, notifiers, lanes: counts, watches, deliveries, quarantined, oldest_overdue_ms: whole }, lanes) {
  const open = watches.pending + watches.leased;
  const { late, oldest } = moving(lanes, counts) ?? { late: watches.overdue, oldest: whole };
  return [
    workers === 0 && worry("workers", "bad",
      `No worker is alive${open ? `: ${counted(open, "payment is", "payments are")} not looked at` : ""}.`,
      "Start one: pollerd worker", "#/processes", "Processes"),
    notifiers === 0 && worry("notifiers", "bad",
      `No notifier is alive: nobody is told what happens${watches.undelivered ? `, ${count(watches.undelivered)} events wait` : ""}.`,
      "Start one: pollerd notifier; nothing is lost meanwhile", "#/processes", "Processes"),
    oldest > LATE_MS && worry("backlog", oldest > 60000 ? "bad" : "careful",
      `${counted(late, "payment is", "payments are")} behind, the oldest by ${span(oldest)}.`,
      "See which lane holds them up", "#/lanes", "Lanes"),
    ...ofLanes(lanes ?? [], counts),
    quarantined > 0 && worry("quarantine", "careful",
      `${counted(quarantined, "payment is", "payments are")} in quarantine: ${quarantined === 1 ? "it" : "they"} could not be looked at.`,
      "See why, and redrive or dismiss", "#/quarantine", "Quarantine"),
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
      `${counted(silent.length, "endpoint takes", "endpoints take")} no events and ${silent.length === 1 ? "is" : "are"} held: ${names(silent)}.`,
      silent.length === 1 ? "It is probed by itself; its deliveries wait and lose no attempt"
        : "They are probed by themselves; their deliveries wait and lose no attempt", link(silent), "Endpoints"),
    failing.length && worry("endpoints failing", "careful",
      `${counted(failing.length, "endpoint fails", "endpoints fail")} now: ${names(failing)}.`,
      "See its attempts", link(failing), "Endpoints"),
  ].filter(Boolean);
}

/** Of those who see no counts: what the list holds. */
function ofQuarantine({ data, next }) {
  if (data.length === 0) return [];
  const isOne = data.length === 1 && !next;
  return [worry("quarantine", "careful",
    `${count(data.length)}${next ? " or more" : ""} ${isOne ? "payment is" : "payments are"} in quarantine: ${isOne ? "it" : "they"} could not be looked at.`,
    "See why", "#/quarantine", "Quarantine")];
}

function ofDeliveries({ dead, failing }) {
  const some = (list) => `${count(list.data.length)}${list.next ? " or more" : ""}`;
  return [
    dead?.data.length && worry("dead", "bad",
      `${some(dead)} ${dead.data.length === 1 ? "delivery has" : "deliveries have"} given up at least one event.`,
      "Mend the receiver, then send again; or dismiss", "#/deliveries?state=dead", "Given up"),
    failing?.data.length && worry("failing", "careful",
      `${some(failing)} ${failing.data.length === 1 ? "delivery fails" : "deliveries fail"} and ${failing.data.length === 1 ? "is" : "are"} tried again.`,
      null, "#/deliveries?state=failing", "Failing"),
  ].filter(Boolean);
}

// What a check of the doctor is about, when something above says it better.
const saidBy = {
  workers: ["workers"], notifiers: ["notifiers"], backlog: ["backlog", "late lanes"], lanes: ["lanes", "late lanes"],
  quarantine: ["quarantine"], outbox: ["outbox", "notifiers"], endpoints: ["endpoints"],
  deliveries: ["dead", "failing", "endpoints held", "endpoints failing"],
};

/**
 * Everything that is wrong, the worst first; empty only when everything was looked at and is well.
 *
 * What could not be looked at (`null`) is no worry and no comfort: see `isKnown`.
 */
export function worries({ stats, doctor, endpoints, deliveries, lanes, quarantine }) {
  const found = [
    ...(stats ? ofStats(stats, lanes) : ofLanes(lanes ?? [])), ...(quarantine ? ofQuarantine(quarantine) : []), ...(endpoints ? ofEndpoints(endpoints) : []),
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
