// The number of payments that a search finds and their sums, and the dates between which they were created.

import { at, maybe } from "./api.js";
import { labelled } from "./dialogs.js";
import { h, show } from "./dom.js";
import { count, money } from "./words.js";

/** Counting thousands of payments is expensive, so a count is reused for this long. */
const SUMMARY_MS = 30000;
/** The number of searches whose counts are kept. */
const KEPT_MAX = 50;

const known = new Map();

function read(q) {
  const kept = known.get(q);
  if (kept && Date.now() - kept.at < SUMMARY_MS) return kept;
  const asked = { at: Date.now(), result: kept?.result ?? null };
  asked.answer = maybe(at("v1/watches/summary", { q })).catch(() => null).then((result) => {
    if (result) asked.result = result;
    return asked.result;
  });
  if (known.size >= KEPT_MAX) known.clear();
  known.set(q, asked);
  return asked;
}

function shown({ count: found, capped, sums }) {
  const text = `${capped ? "at least " : ""}${count(found)} ${found === 1 ? "payment" : "payments"}`;
  return [h("strong", null, text), sums.map((one) => [" · ", money(one.amount, one.currency)])];
}

/** The number and the totals of a search's results; empty when the server cannot count them. */
export function summary(q) {
  const box = h("p", { class: "sums", id: "sums", "aria-live": "polite" });
  const asked = read(q);
  if (asked.result) show(box, shown(asked.result));
  asked.answer.then((result) => {
    if (result) show(box, shown(result));
  });
  return box;
}

// Days are in the browser's time zone; the search uses their instants.
const dayOf = (text) => {
  if (!text) return "";
  const time = new Date(text);
  const two = (n) => String(n).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
};
const [FROM, UNTIL] = [/(?:^|\s)created>=(\d{4}-[^\s]*)/, /(?:^|\s)created<(\d{4}-[^\s]*)/];

/** Midnight of a day in the browser's time zone, plus `days`, as an instant. */
function instant(day, days = 0) {
  const time = new Date(`${day}T00:00:00`);
  time.setDate(time.getDate() + days);
  return time.toISOString().replace(/\.\d+/, "");
}

/** The last day of a range that ends at an instant. */
function lastDay(text) {
  if (!text) return "";
  const time = new Date(text);
  time.setDate(time.getDate() - 1);
  return dayOf(time.toISOString());
}

/** Replaces the dates of a search; an empty day is no limit. */
export function between(q, from, until) {
  const rest = q.replace(FROM, "").replace(UNTIL, "").trim();
  return [rest, from && `created>=${instant(from)}`, until && `created<${instant(until, 1)}`].filter(Boolean).join(" ");
}

/** Fields for the range of creation dates; `go(q)` opens the search with them. */
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
