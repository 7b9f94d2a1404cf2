// The overview: issues with their remedies, counts, charts, latest changes.

import { api, at, collect, may, maybe, orderLink, paymentLink } from "./api.js";
import { chart } from "./charts.js";
import { h, pause } from "./dom.js";
import { issues, laneBadge } from "./issues.js";
import { connection, recent, recentRange } from "./live.js";
import { age, badge, card, head, sum, tabs } from "./parts.js";
import { eventLabel } from "./timeline.js";
import { count, counted, sentence, span, timeOfDay } from "./words.js";

/** The doctor also queries the upstreams, so its result is reused for this long. */
const DOCTOR_MS = 60000;
const HISTORY_MS = 30000;
/** The points of the last hour, in a series of 24 hours. */
const HOUR_POINTS = 60;

/** Caches the result of `read` for `ms`; until a new result arrives, the previous one is returned. */
function cached(ms, read) {
  let [readAt, key, answer, known] = [0, null, null, null];
  return (...which) => {
    const isOther = String(which) !== key;
    if (isOther) known = null;
    if (isOther || Date.now() - readAt > ms) {
      [readAt, key, answer] = [Date.now(), String(which), read(...which)];
      const mine = answer;
      // A failed read is repeated at the next refresh.
      mine.then(() => { if (mine === answer) known = mine; }, () => { readAt = 0; });
    }
    return known ?? answer;
  };
}

const doctor = cached(DOCTOR_MS, () => maybe("v1/doctor"));
/** How long a refresh waits for the doctor before it shows the rest. */
const DOCTOR_WAIT_MS = 300;
/** The doctor has not answered yet. */
const PENDING = {};
const history = cached(HISTORY_MS, (span_) => maybe(at("v1/stats/history", { span: span_ })));

const deliveriesThat = (state) => collect("v1/deliveries", { state, limit: 100 }, { want: 100, rounds: 20 });

async function readAll(refresh) {
  const allowed = (scope, read) => may(scope) ? read() : null;
  const health = allowed("cluster:read", doctor);
  // Keys without access to counts read the list of their accounts.
  const quarantined = may("cluster:read") ? null : allowed("watches:read", () => collect("v1/quarantine", { limit: 100 }, { want: 100, rounds: 20 }));
  const [stats, checks, endpoints, dead, failing, lanes, incidents] = await Promise.all([
    allowed("cluster:read", () => maybe("v1/stats")), Promise.race([health, pause(DOCTOR_WAIT_MS).then(() => PENDING)]),
    allowed("endpoints:read", () => api("v1/endpoints?limit=100")),
    allowed("deliveries:read", () => deliveriesThat("dead")),
    allowed("deliveries:read", () => deliveriesThat("failing")),
    allowed("lanes:read", () => maybe("v1/lanes?limit=100")),
    allowed("cluster:read", () => maybe("v1/incidents")),
  ]);
  // The next refresh reports a failure.
  if (checks === PENDING) health.then(refresh, () => {});
  return {
    stats, doctor: checks, endpoints: endpoints?.data, deliveries: { dead, failing }, lanes: lanes?.data,
    quarantine: await quarantined,
    incidents: incidents?.data,
  };
}

function verdict(state) {
  const found = issues(state);
  if (found.length === 0 && state.doctor === PENDING) {
    return h("section", { class: "verdict", id: "verdict" }, h("h2", null, "Checking …"),
      h("p", null, "The doctor is checking the dependencies of this cluster."));
  }
  if (found.length === 0) {
    const isWhole = state.stats || (state.lanes && state.endpoints && state.quarantine && state.deliveries.dead && state.deliveries.failing);
    return h("section", { class: `verdict ${isWhole ? "good" : ""}`, id: "verdict" },
      h("h2", null, state.stats ? "All systems operational" : isWhole ? "No issues in these accounts" : "No known issues"),
      h("p", null, state.stats ? "Payments are polled and events are delivered on time."
        : isWhole ? "Keys that are bound to accounts cannot see the health of the cluster."
          : "This key cannot see every kind of issue."));
  }
  const bad = found.filter((one) => one.colour === "bad").length;
  return h("section", { class: `verdict ${bad ? "bad" : "careful"}`, id: "verdict" },
    h("h2", null, bad ? `${counted(found.length, "issue needs", "issues need")} attention` : counted(found.length, "warning", "warnings")),
    h("ul", null, found.map((one) => h("li", { class: one.colour },
      h("div", null, h("p", null, one.text), one.remedy && h("p", { class: "soft" }, sentence(one.remedy))),
      h("a", { class: "button small", href: one.href, "data-key": `issue ${one.key} ${one.text}` }, one.label)))));
}

function tiles({ stats, deliveries, lanes, endpoints, quarantine }) {
  const late = stats?.oldest_overdue_ms ?? 0;
  const many = (list) => list ? `${count(list.data.length)}${list.next ? "+" : ""}` : null;
  const counts = [
    ...(stats ? [
      ["Open", count(stats.watches.pending + stats.watches.leased), "", "#/payments?q=state%3Dopen"],
      ["Overdue", late > 2000 ? span(late) : "0 s", late <= (stats.late_after_ms ?? 15000) ? "" : late > 60000 ? "bad" : "careful", "#/lanes"],
      ["Undelivered", count(stats.watches.undelivered + stats.deliveries.pending), "", "#/deliveries"],
      ["Workers", count(stats.workers), stats.workers ? "" : "bad", "#/processes"],
      ["Notifiers", count(stats.notifiers), stats.notifiers ? "" : "bad", "#/processes"],
      ["Quarantine", count(stats.quarantined), stats.quarantined ? "careful" : "", "#/quarantine"],
    ] : [
      ["Lanes", count(lanes?.length), "", "#/lanes"], ["Endpoints", count(endpoints?.length), "", "#/endpoints"],
      ["Quarantine", many(quarantine), quarantine?.data.length ? "careful" : "", "#/quarantine"],
    ]),
    ["Failing", many(deliveries.failing), deliveries.failing?.data.length ? "careful" : "", "#/deliveries?state=failing"],
    ["Dead letters", many(deliveries.dead), deliveries.dead?.data.length ? "bad" : "", "#/deliveries?state=dead"],
  ].filter(([, value]) => value !== null);
  return h("ul", { class: "tiles", "aria-label": "Counts" }, counts.map(([name, value, colour, href]) =>
    h("li", null, h("a", { href, "data-key": `tile ${name}` },
      h("span", { class: "soft" }, name), h("strong", { class: colour }, value)))));
}

function charts(stored, span_) {
  if (!stored?.series) return null;
  const { series } = stored;
  const step = stored.step_seconds * 1000;
  // The last hour is the end of the series of a day.
  const left = span_ === "1h" ? Math.max(0, (series.polls?.length ?? 0) - HOUR_POINTS) : 0;
  const of = (name) => (series[name] ?? []).slice(left);
  const [ago, words] = { "1h": ["1 h", "last hour"], "24h": ["24 h", "24 hours"], "90d": ["90 d", "90 days"] }[span_];
  const time = { span: words, ago, from: new Date(stored.from).getTime() + left * step, step };
  return card({
    title: "History", note: `each point is ${step === 60000 ? "a minute" : step === 36e5 ? "an hour" : span(step)}`,
    tools: tabs("Span", [["1h", "1 h", "#/?span=1h"], ["24h", "24 h", "#/"], ["90d", "90 d", "#/?span=90d"]], span_),
  }, h("div", { class: "charts" },
    chart({ title: "Polls", lines: [{ values: of("polls") }], ...time }),
    chart({ title: "Changes", lines: [{ values: of("changes") }], ...time }),
    chart({ title: "Deliveries", lines: [{ values: of("deliveries") }], ...time }),
    chart({
      title: "Failures", lines: [{ values: of("failures"), class: "line warn" }], ...time,
      colour: (n) => n > 0 ? "careful" : "",
    }),
    chart({
      title: "Lag p99, p50", said: span, ...time,
      lines: [{ values: of("lag_p99_ms") }, { values: of("lag_p50_ms"), class: "line under" }],
    })));
}

/** One line per poll: the payment event, or the upstream event when there is none. */
function withoutRepeats(events) {
  const lines = new Set();
  const isMoney = (event) => /^(payment|next_step)\./.test(event.type);
  const poll = (event) => `${event.account} ${event.order ?? event.source} ${event.observed?.polled_at}`;
  const money = new Set(events.filter(isMoney).map(poll));
  return events.filter((event) => {
    const line = `${poll(event)} ${eventLabel(event).text}`;
    if (lines.has(line) || (!isMoney(event) && money.has(poll(event)))) return false;
    lines.add(line);
    return true;
  });
}

function changes() {
  const events = withoutRepeats(recent());
  if (!may("events:read")) return null;
  return card({ title: "Latest changes", note: "newest first" }, events.length === 0
    ? h("p", { class: "empty" }, recentRange() ? `No changes in ${recentRange()}.`
      : connection() === "connecting" ? "Loading …" : "Changes cannot be read at the moment.")
    : h("ol", { class: "changes" }, events.slice(0, 12).map((event) => {
      const { text, colour } = eventLabel(event);
      const href = event.kind === "order"
        ? orderLink(event.order ?? event.source, event.account) : paymentLink(event);
      return h("li", null,
        h("time", { class: "soft", datetime: event.observed?.polled_at }, timeOfDay(event.observed?.polled_at ?? Date.now())),
        h("a", { href, "data-key": `event ${event.id}` }, event.order ?? event.source),
        h("span", { class: "n" }, event.payment ? sum(event.payment) : ""),
        badge(text, colour, event.type));
    })));
}

function busyLanes(lanes, stats) {
  if (!lanes) return null;
  const rows = lanes.slice(0, 6);
  return card({ title: "Lanes", tools: h("a", { class: "button small", href: "#/lanes" }, "All lanes") },
    rows.length === 0 ? h("p", { class: "empty" }, "Lanes appear here when payments are watched.")
      : h("ul", { class: "rows" }, rows.map((lane) => h("li", null,
        h("span", { class: "id" }, lane.id),
        h("span", { class: "soft n" }, `${count(lane.waiting)} waiting`),
        badge(...laneBadge(lane, stats?.workers))))));
}

/** The last three resolved incidents; open issues are in the verdict. */
function incidentsCard(incidents) {
  const shown = (incidents ?? []).filter((one) => one.status !== "open").slice(0, 3);
  if (!shown.length) return null;
  return card({ title: "Resolved incidents" },
    h("ul", { class: "checks", id: "incidents" }, shown.map((one) => h("li", null,
      badge("Resolved", "good", one.id),
      h("div", null, h("p", null, sentence(one.message)),
        h("p", { class: "soft" }, "since ", age(one.since), ", opened ", age(one.opened_at),
          one.resolved_at ? [", resolved ", age(one.resolved_at)] : null))))));
}

/** The overview page. */
export async function overviewPage({ query, refresh }) {
  const span_ = ["1h", "90d"].includes(query.get("span")) ? query.get("span") : "24h";
  const [state, stored] = await Promise.all([readAll(refresh), may("cluster:read") ? history(span_ === "90d" ? "90d" : "24h") : null]);
  return [
    head("Overview"), verdict(state), incidentsCard(state.incidents), tiles(state), charts(stored, span_),
    h("div", { class: "halves" }, changes(), busyLanes(state.lanes, state.stats)),
  ];
}
