// Searches for payments.

import { collect } from "./api.js";

const PAGE = 50;
/** The most pages read to fill one. Without an index, each page scans some thousand records. */
const ROUNDS = 10;

/** One page of results, with the number of scanned records. */
export function search(text, cursor, { limit = PAGE, stop } = {}) {
  return collect("v1/watches", { q: text, limit, cursor }, { want: limit, rounds: ROUNDS, stop });
}

/** The most values and characters of one search. */
const [VALUES, LENGTH] = [20, 900];

/** Reads payments by source in all accounts; unknown sources are omitted. */
export async function searchSources(sources) {
  const parts = [];
  for (const source of sources.filter((one) => /^[\w.-]+$/.test(one))) {
    const last = parts.at(-1);
    if (last && last.length < VALUES && last.join().length + source.length < LENGTH) last.push(source);
    else parts.push([source]);
  }
  const found = await Promise.all(parts.map((part) => search(`source=${part.join(",")}`, null, { limit: 100 })));
  return found.flatMap((page) => page.data);
}

/** Finds a payment by its ID in all accounts and kinds; null when it does not exist. */
export async function findSource(source) {
  if (!/^[\w.-]+$/.test(source)) return null;
  const { data } = await search(`source=${source}`);
  return data[0] ?? null;
}
