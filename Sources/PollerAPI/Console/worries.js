// What is wrong, in one list: what the doctor says, and what the counts and lists tell beside it.

import { count, counted, lane as laneWords, sentence, span } from "./words.js";

/** What an upstream does that a lane is stopped for, in a sentence and in a word. */
const failures = {
  denied: ["refuses our credentials", "Credentials refused"], revoked: ["refuses the account's key", "Key refused"], errors: ["answers with errors", "Errors"],
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

// The consequences, the gravest first, as the server orders incidents: payments are not seen, no recipient is notified,
// one receiver is not notified, and advice.
const consequences = [
  ["workers", "account key", "stripe api key", "redis", "backlog", "late lanes", "lanes", "credentials", "quarantine", "set aside", "store_filling"],
  ["notifiers", "outbox", "smtp relay"],
  ["dead", "endpoints", "endpoints held", "endpoints failing", "failing", "deliveries"],
];
/** The rank of a worry: a lane without overdue payments that only slows down or was paused by a person is advice. */
function rank({ key, colour }) {
  const found = consequences.findIndex((keys) => keys.includes(key));
  const isAdvice = found < 0 || (colour !== "bad" && ["lanes", "redis", "stripe api key", "smtp relay"].includes(key));
  return isAdvice ? [consequences.length, 0] : [found, consequences[found].indexOf(key)];
}

/** Whether a lane's polls fail because the upstream refuses the key of its account. */
const isRevoked = (lane) => lane.failure === "revoked" && lane.state !== "paused";
const accountOf = (lane) => lane.id.slice(0, lane.id.lastIndexOf("/"));

/** Accounts whose key is refused: one line for each, whatever its lanes are like. */
function ofKeys(lanes) {
  const waiting = new Map();
  for (const lane of lanes.filter(isRevoked)) {
    waiting.set(accountOf(lane), (waiting.get(accountOf(lane)) ?? 0) + lane.waiting + lane.in_flight);
  }
  return [...waiting].map(([account, open]) => worry("account key", "bad",
    `The upstream refuses the key of account ${account} (401): ${counted(open, "payment is", "payments are")} not seen.`,
    "Give it a key that is valid; then resume its lanes to go on at once", "#/lanes", "Lanes"));
}

/** Lanes that do not flow, each with what waits in it: what stands still is the cause of what is late. */
function ofLanes(all, counts) {
  const lanes = all.filter((lane) => !isRevoked(lane));
  return ofKeys(all).concat(Object.entries(stops).flatMap(([state, [colour, one, many]]) => {
    const those = lanes.filter((lane) => lane.state === state).toSorted((a, b) => b.overdue_ms - a.overdue_ms);
    const told = all.filter((lane) => lane.state === state && isRevoked(lane)).length;
    const rest = (counts?.[state] ?? those.length + told) - told - Math.min(those.length, NAMED);
    return [
      ...those.slice(0, NAMED).map((lane) => worry(lane.overdue ? "late lanes" : "lanes", colour,
        `Lane ${lane.id} ${one}${state === "open" ? ` because the upstream ${fails(lane)[0]}` : ""}${lane.overdue ? `: ${counted(lane.overdue, "payment waits", "payments wait")}, the oldest ${span(lane.overdue_ms)}` : ""}.`,
        state === "paused" ? "Somebody has stopped it: resume it when it may go on" : null, "#/lanes", "Lanes")),
      rest > 0 && worry("lanes", colour, `${counted(rest, `more lane ${one}${state === "open" ? " because its upstream fails" : ""}`, `more lanes ${many}`)}.`, null, "#/lanes", "Lanes"),
    ];
  }).filter(Boolean));
}

/** What is late where nothing stops it; null when that is not known because not every lane was looked at. */
function moving(lanes, counts) {
  if (!lanes || lanes.length < (counts?.total ?? 0)) return null;
  const flowing = lanes.filter((lane) => ["flowing", "slowed"].includes(lane.state) && !isRevoked(lane));
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

/** Incidents that nothing else on the page shows. */
const ofIncidents = (incidents) => incidents
  .filter((one) => one.status === "open" && ["key_expiring", "store_filling"].includes(one.kind))
  .map((one) => worry(one.kind, one.kind === "store_filling" ? "bad" : "careful", sentence(one.message), one.action,
    one.kind === "key_expiring" ? "#/keys" : "#/processes", one.kind === "key_expiring" ? "Keys" : "Processes"));

// What a check of the doctor is about, when something above says it better.
const saidBy = {
  "stripe api key": ["account key"], credentials: ["account key"],
  workers: ["workers"], notifiers: ["notifiers"], backlog: ["backlog", "late lanes"], lanes: ["lanes", "late lanes", "account key"],
  quarantine: ["quarantine"], outbox: ["outbox", "notifiers"], endpoints: ["endpoints"],
  deliveries: ["dead", "failing", "endpoints held", "endpoints failing"],
};

/**
 * Everything that is wrong, by what follows from it; empty only when everything was looked at and is well.
 *
 * What could not be looked at (`null`) is no worry and no comfort: see `isKnown`.
 */
export function worries({ stats, doctor, endpoints, deliveries, lanes, quarantine, incidents }) {
  const found = [
    ...(stats ? ofStats(stats, lanes) : ofLanes(lanes ?? [])), ...(quarantine ? ofQuarantine(quarantine) : []), ...(endpoints ? ofEndpoints(endpoints) : []),
    ...(deliveries ? ofDeliveries(deliveries) : []), ...(incidents ? ofIncidents(incidents) : []),
  ];
  const said = new Set(found.map((one) => one.key));
  for (const check of doctor?.checks ?? []) {
    if (check.status === "ok" || saidBy[check.name]?.some((key) => said.has(key))) continue;
    found.push(worry(check.name, check.status === "failed" ? "bad" : "careful",
      `${check.name.charAt(0).toUpperCase()}${check.name.slice(1)}: ${check.message}.`, check.action,
      places[check.name] ?? "#/health", "Details"));
  }
  return found.sort((a, b) => {
    const [one, other] = [rank(a), rank(b)];
    return one[0] - other[0] || (a.colour === "bad" ? 0 : 1) - (b.colour === "bad" ? 0 : 1) || one[1] - other[1];
  });
}
