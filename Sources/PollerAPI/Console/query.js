// Finding payments: with the server's search, and where there is none, by reading the list.

import { Refused, api, at, collect, maybe } from "./api.js";

/** What the list itself filters by, whatever the server. */
const LISTED = new Set(["state", "status", "payment", "account", "kind"]);
const PAGE = 50;
/** Watches that are read to find some where the server has no search. */
const LOOK_MAX = 3000;

/** The words of a query: `{name?, operator?, value}`; quotes keep spaces. */
export function words(text) {
  const found = [];
  for (const [, name, operator, quoted, value] of text.matchAll(
    /(?:([a-z_]+(?:\.[\w-]+)?)(>=|<=|=|>|<))?(?:"([^"]*)"|(\S+))/gi)) {
    found.push({ name: name?.toLowerCase(), operator, value: quoted ?? value });
  }
  return found;
}

/** The query as the list's own filters; null when they cannot say it. */
function filters(text) {
  const found = {};
  for (const word of words(text)) {
    if (!LISTED.has(word.name) || word.operator !== "=" || word.name in found) return null;
    found[word.name] = word.value;
  }
  return found;
}

const units = { s: 1e3, m: 6e4, h: 36e5, d: 864e5 };
const tests = {
  "=": (a, b) => a === b, ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b,
};

/** Whether a watch is one that a word means; for servers without a search. */
function fits(watch, { name, operator, value }) {
  const wanted = value.toLowerCase();
  if (!name) {
    return [watch.source, watch.order, watch.id, ...Object.values(watch.metadata ?? {})]
      .some((text) => text?.toLowerCase().includes(wanted));
  }
  if (name === "amount") return tests[operator](watch.payment?.amount ?? NaN, Number(value));
  if (name === "created" || name === "closed") {
    const [, n, unit] = value.match(/^(\d+)([smhd])$/) ?? [];
    const age = Date.now() - new Date(watch.created_at);
    return unit ? tests[operator](age, n * units[unit]) : true;
  }
  const told = name.startsWith("metadata.") ? watch.metadata?.[name.slice(9)]
    : name === "method" ? watch.payment?.method : name === "payment" ? watch.payment?.state : watch[name];
  return operator === "=" && String(told ?? "").toLowerCase() === wanted;
}

/** Payments of an order, of which a word is the name; the server knows the order by its name. */
async function ofOrder(name, account) {
  const order = await maybe(at(`/v1/orders/${encodeURIComponent(name)}`, { account }));
  if (!order) return [];
  const found = await Promise.all(order.members.map((one) =>
    maybe(at(`/v1/watches/${encodeURIComponent(one.source)}`, { account: order.account, kind: one.kind }))));
  return found.filter(Boolean);
}

async function byReading(text, cursor) {
  const all = words(text);
  const orders = all.filter((word) => !word.name || (word.name === "order" && word.operator === "="));
  if (!cursor && orders.length === 1 && all.length === 1 && /^[\w.-]{1,64}$/.test(orders[0].value)) {
    const data = await ofOrder(orders[0].value).catch(() => []);
    if (data.length) return { data, next: null, looked: data.length, complete: true };
  }
  const listed = Object.fromEntries(all.filter((word) => LISTED.has(word.name) && word.operator === "=")
    .map((word) => [word.name, word.value]));
  return collect("/v1/watches", { ...listed, limit: 500, cursor }, {
    want: PAGE, rounds: LOOK_MAX / 500, keep: (watch) => all.every((word) => fits(watch, word)),
  });
}

let hasSearch = true;

/** A page of what a query means, as the server's lists are told. */
export async function search(text, cursor, limit = PAGE) {
  const listed = filters(text);
  if (listed) return collect("/v1/watches", { ...listed, limit, cursor }, { want: limit });
  if (hasSearch) {
    try {
      const page = await api(at("/v1/watches", { q: text, limit, cursor }));
      return { data: page.data, next: page.has_more ? page.next : null, looked: page.looked ?? 0, complete: page.complete };
    } catch (error) {
      if (!(error instanceof Refused && error.code === "unknown_parameter")) throw error;
      hasSearch = false;
    }
  }
  return byReading(text, cursor);
}

/** A watch by its id alone, in whatever account and of whatever kind; null when there is none. */
export async function findSource(source) {
  const { data } = await search(source).catch(() => ({ data: [] }));
  return data.find((watch) => watch.source === source || watch.id === source) ?? null;
}
