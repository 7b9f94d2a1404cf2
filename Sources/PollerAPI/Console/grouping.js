// Combines the deliveries of one event into one timeline entry, so that ten recipients are not ten equal entries.

import { payments } from "./words.js";

/** With more recipients than this, the entry shows their number instead of their names. */
const NAMED = 3;
const tones = ["bad", "careful", "quiet"];

const isDelivery = (entry) => ["delivery", "mail"].includes(entry.kind) && entry.seq !== undefined;
/** Deliveries of the same event of the same payment. */
const keyOf = (entry) => `${entry.of ?? ""} ${entry.seq}`;

/** `a, b and c`, or the number of names. */
function list(names) {
  if (names.length > NAMED) return `${names.length} recipients`;
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** The label of the event. */
function label(parts) {
  const state = parts.find((part) => part.payment)?.payment;
  return payments[state]?.[0] ?? parts.find((part) => part.accepted)?.accepted ?? `Event ${parts[0].seq}`;
}

/** The result of the last delivery to each recipient. */
function outcome(parts, names) {
  const last = new Map(parts.map((part) => [part.endpoint, part]));
  const those = (true_) => [...last].filter(([, part]) => true_(part)).map(([endpoint]) => names.get(endpoint) ?? endpoint);
  return {
    delivered: those((part) => part.accepted), failed: those((part) => !part.accepted && ["bad", "careful"].includes(part.tone)),
    skipped: those((part) => !part.accepted && !["bad", "careful"].includes(part.tone)),
    tone: tones.find((tone) => [...last.values()].some((part) => (part.tone ?? "quiet") === tone)),
  };
}

function grouped(parts, names) {
  const { delivered, failed, skipped, tone } = outcome(parts, names);
  const event = `“${label(parts)}”`;
  const lines = [
    delivered.length && `${event} was delivered to ${list(delivered)}.`,
    failed.length && `${delivered.length ? "Delivery" : `Delivery of ${event}`} to ${list(failed)} failed.`,
    skipped.length && `${delivered.length || failed.length ? "It" : event} was not sent to ${list(skipped)}.`,
  ].filter(Boolean);
  const [first, last] = [parts[0], parts.at(-1)];
  return {
    ...first, kind: "delivery", tone, text: lines.join(" "), parts, attempts: null, detail: `${parts.length} deliveries`,
    until: last.at === first.at ? null : last.until ?? last.at,
  };
}

/** The entries with the deliveries of each event combined, at the position of the first one. */
export function group(entries, names = new Map()) {
  const groups = new Map();
  for (const entry of entries.filter(isDelivery)) groups.set(keyOf(entry), [...groups.get(keyOf(entry)) ?? [], entry]);
  return entries.flatMap((entry) => {
    const parts = isDelivery(entry) ? groups.get(keyOf(entry)) : null;
    if (!parts || parts.length === 1) return [entry];
    return parts[0] === entry ? [grouped(parts, names)] : [];
  });
}
