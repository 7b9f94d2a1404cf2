// Finding payments, in the words of the server's search.

import { collect } from "./api.js";

const PAGE = 50;
/** Pages that are asked for to fill one of ours: of what is not in the index, each looks at some thousands. */
const ROUNDS = 10;

/** A page of what a query means, with how many payments were looked at for it. */
export function search(text, cursor, limit = PAGE) {
  return collect("/v1/watches", { q: text, limit, cursor }, { want: limit, rounds: ROUNDS });
}

/** A payment by its id alone, in whatever account and of whatever kind; null when there is none. */
export async function findSource(source) {
  if (!/^[\w.-]+$/.test(source)) return null;
  const { data } = await search(`source=${source}`);
  return data[0] ?? null;
}
