// Whether all is well, and when it is not, what to do.

import { api, at, collect, may, maybe, paymentLink } from "./api.js";
import { chart } from "./charts.js";
import { h, pause } from "./dom.js";
import { hearing, heardSince, recent } from "./live.js";
import { age, badge, card, head, sum, tabs } from "./parts.js";
import { tell } from "./timeline.js";
import { count, counted, sentence, span, timeOfDay } from "./words.js";
import { laneBadge, worries } from "./worries.js";

/** The doctor asks the upstreams too, so it is asked seldom. */
const DOCTOR_MS = 60000;
const HISTORY_MS = 30000;
/** Points of the last hour, of those of a day. */
const HOUR_POINTS = 60;

/** What is asked again only after a while; until there is a new answer, the one before it holds. */
function kept(ms, ask) {
  let [askedAt, asked, answer, known] = [0, null, null, null];
  return (...which) => {
    const isOther = String(which) !== asked;
    if (isOther) known = null;
    if (isOther || Date.now() - askedAt > ms) {
      [askedAt, asked, answer] = [Date.now(), String(which), ask(...which)];
      const mine = answer;
      // A failure is asked about again at the next look.
      mine.then(() => { if (mine === answer) known = mine; }, () => { askedAt = 0; });
    }
    return known ?? answer;
  };
}

const doctor = kept(DOCTOR_MS, () => maybe("v1/doctor"));
/** How long the first look waits for the doctor; the rest is shown before it. */
const DOCTOR_WAIT_MS = 300;
/** The doctor has not answered yet. */
const PENDING = {};
const history = kept(HISTORY_MS, (span_) => maybe(at("v1/stats/history", { span: span_ })));

const deliveriesThat = (state) => collect("v1/deliveries", { state, limit: 100 }, { want: 100, rounds: 20 });

async function look(refresh) {
  const sees = (scope, ask) => may(scope) ? ask() : null;
  const asked = sees("cluster:read", doctor);
  // Who sees no counts sees the list, of their accounts.
  const held = may("cluster:read") ? null : sees("watches:read", () => collect("v1/quarantine", { limit: 100 }, { want: 100, rounds: 20 }));
  const [stats, checks, endpoints, dead, failing, lanes, incidents] = await Promise.all([
    sees("cluster:read", () => maybe("v1/stats")), Promise.race([asked, pause(DOCTOR_WAIT_MS).then(() => PENDING)]),
    sees("endpoints:read", () => api("v1/endpoints?limit=100")),
    sees("deliveries:read", () => deliveriesThat("dead")),
    sees("deliveries:read", () => deliveriesThat("failing")),
    sees("lanes:read", () => maybe("v1/lanes?limit=100")),
    sees("cluster:read", () => maybe("v1/incidents")),
  ]);
  // It fails as the next look will, which says so.
  if (checks === PENDING) asked.then(refresh, () => {});
  return {
    stats, doctor: checks, endpoints: endpoints?.data, deliveries: { dead, failing }, lanes: lanes?.data,
    quarantine: await held,
    incidents: incidents?.data,
  };
}

function verdict(seen) {
  const found = worries(seen);
  if (found.length === 0 && seen.doctor === PENDING) {
    return h("section", { class: "verdict", id: "verdict" }, h("h2", null, "Looking …"),
      h("p", null, "The doctor is asking what this cluster depends on."));
  }
  if (found.length === 0) {
    const isWhole = seen.stats || (seen.lanes && seen.endpoints && seen.quarantine && seen.deliveries.dead && seen.deliveries.failing);
    return h("section", { class: `verdict ${isWhole ? "good" : ""}`, id: "verdict" },
      h("h2", null, seen.stats ? "All is well." : isWhole ? "Nothing of these accounts is held up." : "Nothing is known to be held up."),
      h("p", null, seen.stats ? "Everything is looked at in time, and everybody is told."
        : isWhole ? "How the cluster stands is not shown to keys that are bound to accounts."
          : "This key may not see everything that could be wrong."));
  }
  const bad = found.filter((one) => one.colour === "bad").length;
  return h("section", { class: `verdict ${bad ? "bad" : "careful"}`, id: "verdict" },
    h("h2", null, bad ? counted(found.length, "thing needs", "things need") + " somebody" : counted(found.length, "thing", "things") + " to look at"),
    h("ul", null, found.map((one) => h("li", { class: one.colour },
      h("div", null, h("p", null, one.text), one.todo && h("p", { class: "soft" }, sentence(one.todo))),
      h("a", { class: "button small", href: one.href, "data-key": `worry ${one.key} ${one.text}` }, one.label)))));
}

function tiles({ stats, deliveries, lanes, endpoints, quarantine }) {
  const late = stats?.oldest_overdue_ms ?? 0;
  const many = (list) => list ? `${count(list.data.length)}${list.next ? "+" : ""}` : null;
  const told = [
    ...(stats ? [
      ["Open", count(stats.watches.pending + stats.watches.leased), "", "#/payments?q=state%3Dopen"],
      ["Behind", late > 2000 ? span(late) : "0 s", late > 60000 ? "bad" : late > 15000 ? "careful" : "", "#/lanes"],
      ["To deliver", count(stats.watches.undelivered + stats.deliveries.pending), "", "#/deliveries"],
      ["Workers", count(stats.workers), stats.workers ? "" : "bad", "#/processes"],
      ["Notifiers", count(stats.notifiers), stats.notifiers ? "" : "bad", "#/processes"],
      ["Quarantine", count(stats.quarantined), stats.quarantined ? "careful" : "", "#/quarantine"],
    ] : [
      ["Lanes", count(lanes?.length), "", "#/lanes"], ["Endpoints", count(endpoints?.length), "", "#/endpoints"],
      ["Quarantine", many(quarantine), quarantine?.data.length ? "careful" : "", "#/quarantine"],
    ]),
    ["Failing", many(deliveries.failing), deliveries.failing?.data.length ? "careful" : "", "#/deliveries?state=failing"],
    ["Given up", many(deliveries.dead), deliveries.dead?.data.length ? "bad" : "", "#/deliveries?state=dead"],
  ].filter(([, value]) => value !== null);
  return h("ul", { class: "tiles", "aria-label": "Counts" }, told.map(([name, value, colour, href]) =>
    h("li", null, h("a", { href, "data-key": `tile ${name}` },
      h("span", { class: "soft" }, name), h("strong", { class: colour }, value)))));
}

function charts(told, span_) {
  if (!told?.series) return null;
  const { series } = told;
  const step = told.step_seconds * 1000;
  // An hour is the end of a day.
  const left = span_ === "1h" ? Math.max(0, (series.polls?.length ?? 0) - HOUR_POINTS) : 0;
  const of = (name) => (series[name] ?? []).slice(left);
  const [ago, words] = { "1h": ["1 h", "last hour"], "24h": ["24 h", "24 hours"], "90d": ["90 d", "90 days"] }[span_];
  const time = { span: words, ago, from: new Date(told.from).getTime() + left * step, step };
  return card({
    title: "History", note: `each point is ${step === 60000 ? "a minute" : step === 36e5 ? "an hour" : span(step)}`,
    tools: tabs("Span", [["1h", "1 h", "#/?span=1h"], ["24h", "24 h", "#/"], ["90d", "90 d", "#/?span=90d"]], span_),
  }, h("div", { class: "charts" },
    chart({ title: "Polls", lines: [{ values: of("polls") }], ...time }),
    chart({ title: "Changes", lines: [{ values: of("changes") }], ...time }),
    chart({ title: "Deliveries", lines: [{ values: of("deliveries") }], ...time }),
    chart({
      title: "Failed polls and deliveries", lines: [{ values: of("failures"), class: "line warn" }], ...time,
      colour: (n) => n > 0 ? "careful" : "",
    }),
    chart({
      title: "Lag (p99, p50)", said: span, ...time,
      lines: [{ values: of("lag_p99_ms") }, { values: of("lag_p50_ms"), class: "line under" }],
    })));
}

/** What was seen by one look is one line: the money's word, or the upstream's where it says nothing of money. */
function telling(events) {
  const seen = new Set();
  const isMoney = (event) => /^(payment|next_step)\./.test(event.type);
  const look = (event) => `${event.account} ${event.order ?? event.source} ${event.observed?.polled_at}`;
  const money = new Set(events.filter(isMoney).map(look));
  return events.filter((event) => {
    const line = `${look(event)} ${tell(event).text}`;
    if (seen.has(line) || (!isMoney(event) && money.has(look(event)))) return false;
    seen.add(line);
    return true;
  });
}

function changes() {
  const events = telling(recent());
  if (!may("events:read")) return null;
  return card({ title: "Latest changes", note: "newest first" }, events.length === 0
    ? h("p", { class: "empty" }, heardSince() ? `Nothing has changed in ${heardSince()}.`
      : hearing() === "connecting" ? "Reading …" : "What has changed is not known now.")
    : h("ol", { class: "changes" }, events.slice(0, 12).map((event) => {
      const { text, colour } = tell(event);
      const href = event.kind === "order"
        ? `#/orders/${encodeURIComponent(event.order ?? event.source)}` : paymentLink(event);
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
    rows.length === 0 ? h("p", { class: "empty" }, "No lane holds anything.")
      : h("ul", { class: "rows" }, rows.map((lane) => h("li", null,
        h("span", { class: "id" }, lane.id),
        h("span", { class: "soft n" }, `${count(lane.waiting)} waiting`),
        badge(...laneBadge(lane, stats?.workers))))));
}

/** The last three incidents that are over; what is wrong now is above. */
function incidentsCard(incidents) {
  const shown = (incidents ?? []).filter((one) => one.status !== "open").slice(0, 3);
  if (!shown.length) return null;
  return card({ title: "Incidents that are over" },
    h("ul", { class: "checks", id: "incidents" }, shown.map((one) => h("li", null,
      badge("Over", "good", one.id),
      h("div", null, h("p", null, sentence(one.message)),
        h("p", { class: "soft" }, "since ", age(one.since), ", opened ", age(one.opened_at),
          one.resolved_at ? [", over ", age(one.resolved_at)] : null))))));
}

/** The first page. */
export async function overviewPage({ query, refresh }) {
  const span_ = ["1h", "90d"].includes(query.get("span")) ? query.get("span") : "24h";
  const [seen, told] = await Promise.all([look(refresh), may("cluster:read") ? history(span_ === "90d" ? "90d" : "24h") : null]);
  return [
    head("Overview"), verdict(seen), incidentsCard(seen.incidents), tiles(seen), charts(told, span_),
    h("div", { class: "halves" }, changes(), busyLanes(seen.lanes, seen.stats)),
  ];
}
