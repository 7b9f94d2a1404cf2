// The deliveries of one event as one entry of a timeline: ten recipients would be ten times the same.

import { payments } from "./words.js";

/** Recipients that are named; of more they are counted. */
const NAMED = 3;
const tones = ["bad", "careful", "quiet"];

const isDelivery = (entry) => ["delivery", "mail"].includes(entry.kind) && entry.seq !== undefined;
/** Deliveries of the same event of the same payment. */
const keyOf = (entry) => `${entry.of ?? ""} ${entry.seq}`;

/** Names with commas between and `and` before the last; or how many there are. */
function list(names) {
  if (names.length > NAMED) return `${names.length} recipients`;
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** What the event said, in a word. */
function word(parts) {
  const state = parts.find((part) => part.payment)?.payment;
  return payments[state]?.[0] ?? parts.find((part) => part.accepted)?.accepted ?? `Event ${parts[0].seq}`;
}

/** What came of the deliveries of one event: how each recipient's last one ended. */
function outcome(parts, names) {
  const last = new Map(parts.map((part) => [part.endpoint, part]));
  const those = (true_) => [...last].filter(([, part]) => true_(part)).map(([endpoint]) => names.get(endpoint) ?? endpoint);
  return {
    delivered: those((part) => part.accepted), failed: those((part) => !part.accepted && ["bad", "careful"].includes(part.tone)),
    skipped: those((part) => !part.accepted && !["bad", "careful"].includes(part.tone)),
    tone: tones.find((tone) => [...last.values()].some((part) => (part.tone ?? "quiet") === tone)),
  };
}

function folded(parts, names) {
  const { delivered, failed, skipped, tone } = outcome(parts, names);
  const said = `“${word(parts)}”`;
  const lines = [
    delivered.length && `${said} was delivered to ${list(delivered)}.`,
    failed.length && `${delivered.length ? "It" : said} could not be delivered to ${list(failed)}.`,
    skipped.length && `${delivered.length || failed.length ? "It" : said} was not sent to ${list(skipped)}.`,
  ].filter(Boolean);
  const [first, last] = [parts[0], parts.at(-1)];
  return {
    ...first, kind: "delivery", tone, text: lines.join(" "), parts, attempts: null, detail: `${parts.length} deliveries`,
    until: last.at === first.at ? null : last.until ?? last.at,
  };
}

/** The entries with the deliveries of each event in one of them, where the first of them was. */
export function fold(entries, names = new Map()) {
  const groups = new Map();
  for (const entry of entries.filter(isDelivery)) groups.set(keyOf(entry), [...groups.get(keyOf(entry)) ?? [], entry]);
  return entries.flatMap((entry) => {
    const parts = isDelivery(entry) ? groups.get(keyOf(entry)) : null;
    if (!parts || parts.length === 1) return [entry];
    return parts[0] === entry ? [folded(parts, names)] : [];
  });
}
