// Finding payments, in the words of the server's search.

import { collect } from "./api.js";

const PAGE = 50;
/** Pages that are asked for to fill one of ours: of what is not in the index, each looks at some thousands. */
const ROUNDS = 10;

/** A page of what a query means, with how many payments were looked at for it. */
export function search(text, cursor, { limit = PAGE, stop } = {}) {
  return collect("v1/watches", { q: text, limit, cursor }, { want: limit, rounds: ROUNDS, stop });
}

/** Values that one search takes, and how long it may be. */
const [VALUES, LENGTH] = [20, 900];

/** The payments of some sources, of every account; some of them may be unknown. */
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

/** A payment by its id alone, in whatever account and of whatever kind; null when there is none. */
export async function findSource(source) {
  if (!/^[\w.-]+$/.test(source)) return null;
  const { data } = await search(`source=${source}`);
  return data[0] ?? null;
}
