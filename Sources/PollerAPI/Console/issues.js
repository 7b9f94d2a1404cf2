// The list of issues, from the doctor's checks, the counts and the lists.

import { count, counted, lane as laneWords, sentence, span, upper } from "./words.js";

/** Why a lane has stopped: the upstream's failure as a predicate and as a label. */
const failures = {
  denied: ["rejects the credentials", "Credentials refused"], revoked: ["rejects the account's key", "Key refused"], errors: ["responds with errors", "Errors"],
  silent: ["does not respond", "No response"],
};
const fails = (lane) => failures[lane.failure] ?? ["fails", "Failing"];

/** The label and colour of a lane; a stopped lane shows the upstream's failure. */
export const laneBadge = (lane, workers) => lane.state === "open" ? [fails(lane)[1], "bad"] : laneWords(lane.state, workers);

/** Colour and predicate for one lane and for several, by state. */
const stops = {
  open: ["bad", "is stopped", "are stopped because their upstream fails"],
  paused: ["careful", "is paused", "are paused"],
  probing: ["careful", "is probed after failures", "are probed after failures"],
  held: ["careful", "waits because of the upstream's rate limit", "wait because of the upstream's rate limit"],
  slowed: ["careful", "is slowed by the upstream", "are slowed by the upstream"],
};
/** The number of lanes of a state that are named; the others are counted. */
const NAMED = 3;

/** The name of a check as a title: `stripe api key` becomes `Stripe API key`. */
export const checkName = (name) => upper(name.replace(/\b(api|smtp|tls)\b/g, (word) => word.toUpperCase()));

// The page to fix the finding of a doctor's check.
const pages = {
  workers: "#/processes", notifiers: "#/processes", backlog: "#/lanes", lanes: "#/lanes",
  quarantine: "#/quarantine", "set aside": "#/quarantine", outbox: "#/processes", deliveries: "#/deliveries?state=failing",
  endpoints: "#/endpoints", credentials: "#/payments?q=state%3Dopen%20error%3Drefused",
};

const issue = (key, colour, text, remedy, href, label) => ({ key, colour, text, remedy, href, label });

// Issues by consequence, worst first, in the server's order of incidents: payments are not polled, no recipient is
// notified, one recipient is not notified, advice.
const consequences = [
  ["workers", "account key", "stripe api key", "redis", "backlog", "late lanes", "lanes", "credentials", "quarantine", "set aside", "store_filling"],
  ["notifiers", "outbox", "smtp relay"],
  ["dead", "endpoints", "endpoints held", "endpoints failing", "failing", "deliveries"],
];
/** The rank of an issue: a slowed or paused lane without overdue payments is advice. */
function rank({ key, colour }) {
  const found = consequences.findIndex((keys) => keys.includes(key));
  const isAdvice = found < 0 || (colour !== "bad" && ["lanes", "redis", "stripe api key", "smtp relay"].includes(key));
  return isAdvice ? [consequences.length, 0] : [found, consequences[found].indexOf(key)];
}

/** Whether a lane fails because the upstream refuses the key of its account. */
const isRevoked = (lane) => lane.failure === "revoked" && lane.state !== "paused";
const accountOf = (lane) => lane.id.slice(0, lane.id.lastIndexOf("/"));

/** One issue for each account whose key is refused. */
function ofKeys(lanes) {
  const waiting = new Map();
  for (const lane of lanes.filter(isRevoked)) {
    waiting.set(accountOf(lane), (waiting.get(accountOf(lane)) ?? 0) + lane.waiting + lane.in_flight);
  }
  return [...waiting].map(([account, open]) => issue("account key", "bad",
    `The upstream refuses the key of account ${account} (401): ${counted(open, "payment is", "payments are")} not polled.`,
    "Configure a valid key. Then resume its lanes to continue at once", "#/lanes", "Lanes"));
}

/** Lanes that are stopped or slowed, with their overdue payments. */
function ofLanes(all, counts) {
  const lanes = all.filter((lane) => !isRevoked(lane));
  return ofKeys(all).concat(Object.entries(stops).flatMap(([state, [colour, one, many]]) => {
    const those = lanes.filter((lane) => lane.state === state).toSorted((a, b) => b.overdue_ms - a.overdue_ms);
    const revoked = all.filter((lane) => lane.state === state && isRevoked(lane)).length;
    const rest = (counts?.[state] ?? those.length + revoked) - revoked - Math.min(those.length, NAMED);
    return [
      ...those.slice(0, NAMED).map((lane) => issue(lane.overdue ? "late lanes" : "lanes", colour,
        `Lane ${lane.id} ${one}${state === "open" ? ` because the upstream ${fails(lane)[0]}` : ""}${lane.overdue ? `: ${counted(lane.overdue, "payment waits", "payments wait")}, the oldest ${span(lane.overdue_ms)}` : ""}.`,
        state === "paused" ? "Resume it to continue polling" : null, "#/lanes", "Lanes")),
      rest > 0 && issue("lanes", colour, `${counted(rest, `more lane ${one}${state === "open" ? " because its upstream fails" : ""}`, `more lanes ${many}`)}.`, null, "#/lanes", "Lanes"),
    ];
  }).filter(Boolean));
}

/** Overdue payments in lanes that are not stopped; null when not all lanes were read. */
function overdue(lanes, counts) {
  if (!lanes || lanes.length < (counts?.total ?? 0)) return null;
  const flowing = lanes.filter((lane) => ["flowing", "slowed"].includes(lane.state) && !isRevoked(lane));
  return {
    late: flowing.reduce((sum, lane) => sum + lane.overdue, 0), oldest: Math.max(0, ...flowing.map((lane) => lane.overdue_ms)),
  };
}

function ofStats({ workers, notifiers, lanes: counts, watches, deliveries, quarantined, oldest_overdue_ms: whole, late_after_ms: tolerated = 15000 }, lanes) {
  const open = watches.pending + watches.leased;
  const { late, oldest } = overdue(lanes, counts) ?? { late: watches.overdue, oldest: whole };
  return [
    workers === 0 && issue("workers", "bad",
      `No worker is running${open ? `: ${counted(open, "payment is", "payments are")} not polled` : ""}.`,
      "Start one: pollerd worker", "#/processes", "Processes"),
    notifiers === 0 && issue("notifiers", "bad",
      `No notifier is running, so no events are delivered${watches.undelivered ? `: ${count(watches.undelivered)} events wait` : ""}.`,
      "Start one: pollerd notifier. Events are kept until then", "#/processes", "Processes"),
    oldest > tolerated && issue("backlog", oldest > 60000 ? "bad" : "careful",
      `${counted(late, "payment is", "payments are")} overdue, the oldest by ${span(oldest)}.`,
      "Find the lane that delays them", "#/lanes", "Lanes"),
    ...ofLanes(lanes ?? [], counts),
    quarantined > 0 && issue("quarantine", "careful",
      `${counted(quarantined, "payment is", "payments are")} in quarantine: polling ${quarantined === 1 ? "it" : "them"} failed repeatedly.`,
      "Check the errors, then redrive or dismiss", "#/quarantine", "Quarantine"),
    watches.undelivered > 1000 && notifiers > 0 && issue("outbox", "careful",
      `${count(watches.undelivered)} events wait, because the notifiers cannot keep up.`,
      "Start more notifiers", "#/processes", "Processes"),
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
    disabled.length && issue("endpoints", "bad",
      `${counted(disabled.length, "endpoint is", "endpoints are")} disabled and ${disabled.length === 1 ? "receives" : "receive"} no events: ${names(disabled)}.`,
      disabled.length === 1 ? "Test it, then enable it" : "Test them, then enable them", link(disabled), "Endpoints"),
    silent.length && issue("endpoints held", "bad",
      `${counted(silent.length, "endpoint is", "endpoints are")} unavailable: ${names(silent)}.`,
      silent.length === 1 ? "It is probed automatically. Its deliveries wait and use up no attempts"
        : "They are probed automatically. Their deliveries wait and use up no attempts", link(silent), "Endpoints"),
    failing.length && issue("endpoints failing", "careful",
      `${counted(failing.length, "endpoint is", "endpoints are")} failing: ${names(failing)}.`,
      "Check the delivery attempts", link(failing), "Endpoints"),
  ].filter(Boolean);
}

/** The quarantine of callers without access to counts. */
function ofQuarantine({ data, next }) {
  if (data.length === 0) return [];
  const isOne = data.length === 1 && !next;
  return [issue("quarantine", "careful",
    `${count(data.length)}${next ? " or more" : ""} ${isOne ? "payment is" : "payments are"} in quarantine: polling ${isOne ? "it" : "them"} failed repeatedly.`,
    "Check the errors", "#/quarantine", "Quarantine")];
}

function ofDeliveries({ dead, failing }) {
  const some = (list) => `${count(list.data.length)}${list.next ? " or more" : ""}`;
  return [
    dead?.data.length && issue("dead", "bad",
      `${some(dead)} ${dead.data.length === 1 ? "delivery has" : "deliveries have"} dead letters.`,
      "Fix the receiver, then retry; or dismiss them", "#/deliveries?state=dead", "Dead letters"),
    failing?.data.length && issue("failing", "careful",
      `${some(failing)} ${failing.data.length === 1 ? "delivery is" : "deliveries are"} failing and will be retried.`,
      null, "#/deliveries?state=failing", "Failing"),
  ].filter(Boolean);
}

/** Open incidents that no other issue covers. */
const ofIncidents = (incidents) => incidents
  .filter((one) => one.status === "open" && ["key_expiring", "store_filling"].includes(one.kind))
  .map((one) => issue(one.kind, one.kind === "store_filling" ? "bad" : "careful", sentence(one.message), one.action,
    one.kind === "key_expiring" ? "#/keys" : "#/processes", one.kind === "key_expiring" ? "Keys" : "Processes"));

// Doctor's checks and the issues that cover them.
const coveredBy = {
  "stripe api key": ["account key"], credentials: ["account key"],
  workers: ["workers"], notifiers: ["notifiers"], backlog: ["backlog", "late lanes"], lanes: ["lanes", "late lanes", "account key"],
  quarantine: ["quarantine"], outbox: ["outbox", "notifiers"], endpoints: ["endpoints"],
  deliveries: ["dead", "failing", "endpoints held", "endpoints failing"],
};

/**
 * All issues, ordered by consequence.
 *
 * Parts that could not be read are `null` and add no issue, so an empty list does not prove that they are healthy.
 */
export function issues({ stats, doctor, endpoints, deliveries, lanes, quarantine, incidents }) {
  const found = [
    ...(stats ? ofStats(stats, lanes) : ofLanes(lanes ?? [])), ...(quarantine ? ofQuarantine(quarantine) : []), ...(endpoints ? ofEndpoints(endpoints) : []),
    ...(deliveries ? ofDeliveries(deliveries) : []), ...(incidents ? ofIncidents(incidents) : []),
  ];
  const shown = new Set(found.map((one) => one.key));
  for (const check of doctor?.checks ?? []) {
    if (check.status === "ok" || coveredBy[check.name]?.some((key) => shown.has(key))) continue;
    found.push(issue(check.name, check.status === "failed" ? "bad" : "careful",
      `${checkName(check.name)}: ${check.message}.`, check.action,
      pages[check.name] ?? "#/health", "Details"));
  }
  return found.sort((a, b) => {
    const [one, other] = [rank(a), rank(b)];
    return one[0] - other[0] || (a.colour === "bad" ? 0 : 1) - (b.colour === "bad" ? 0 : 1) || one[1] - other[1];
  });
}
