// The number of payments that a search finds and their sums, and the dates between which they were created.

import { at, maybe } from "./api.js";
import { labelled } from "./dialogs.js";
import { h, show } from "./dom.js";
import { count, money } from "./words.js";

/** A count of thousands is work for the store: it is asked for again only after a while. */
const SUMMARY_MS = 30000;
/** Counts are kept for so many searches. */
const KEPT_MAX = 50;

const known = new Map();

function read(q) {
  const kept = known.get(q);
  if (kept && Date.now() - kept.at < SUMMARY_MS) return kept;
  const asked = { at: Date.now(), told: kept?.told ?? null };
  asked.answer = maybe(at("v1/watches/summary", { q })).catch(() => null).then((told) => {
    if (told) asked.told = told;
    return asked.told;
  });
  if (known.size >= KEPT_MAX) known.clear();
  known.set(q, asked);
  return asked;
}

function shown({ count: found, capped, sums }) {
  const text = `${capped ? "at least " : ""}${count(found)} ${found === 1 ? "payment" : "payments"}`;
  return [h("strong", null, text), sums.map((one) => [" · ", money(one.amount, one.currency)])];
}

/** The count and the sums of what a search finds; empty where the server cannot count. */
export function summary(q) {
  const box = h("p", { class: "sums", id: "sums", "aria-live": "polite" });
  const asked = read(q);
  if (asked.told) show(box, shown(asked.told));
  asked.answer.then((told) => {
    if (told) show(box, shown(told));
  });
  return box;
}

// A day here is one of the browser's zone; the search takes its instants.
const dayOf = (text) => {
  if (!text) return "";
  const time = new Date(text);
  const two = (n) => String(n).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
};
const [FROM, UNTIL] = [/(?:^|\s)created>=(\d{4}-[^\s]*)/, /(?:^|\s)created<(\d{4}-[^\s]*)/];

/** A midnight of the browser's zone as an instant; `days` later. */
function instant(day, days = 0) {
  const time = new Date(`${day}T00:00:00`);
  time.setDate(time.getDate() + days);
  return time.toISOString().replace(/\.\d+/, "");
}

/** The day before an instant that ends a range. */
function lastDay(text) {
  if (!text) return "";
  const time = new Date(text);
  time.setDate(time.getDate() - 1);
  return dayOf(time.toISOString());
}

/** A search between two days, instead of those it names; an empty day is no bound. */
export function between(q, from, until) {
  const rest = q.replace(FROM, "").replace(UNTIL, "").trim();
  return [rest, from && `created>=${instant(from)}`, until && `created<${instant(until, 1)}`].filter(Boolean).join(" ");
}

/** Two dates between which payments were created; `go(q)` shows what the search finds with them. */
export function dates(q, go) {
  const field = (name, value, label) => {
    const made = h("input", { type: "date", name, value, max: "9999-12-31", "data-key": `date ${name}` });
    made.addEventListener("change", (event) => {
      const form = event.target.closest(".dates");
      const [from, until] = ["from", "until"].map((one) => form.querySelector(`[name=${one}]`).value);
      made.blur();
      go(between(q, from, until));
    });
    return labelled(label, made);
  };
  return h("div", { class: "dates", role: "group", "aria-label": "Created" },
    field("from", dayOf(FROM.exec(q)?.[1]), "Created from"), field("until", lastDay(UNTIL.exec(q)?.[1]), "to"));
}
