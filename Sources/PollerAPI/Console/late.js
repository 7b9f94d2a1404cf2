// The payments that are polled late, with the reasons.

import { at, may, maybe, orderLink, paymentLink } from "./api.js";
import { h } from "./dom.js";
import { age, head, id, sum, table, watchBadge } from "./parts.js";
import { search } from "./query.js";
import { reasonOf } from "./timeline.js";
import { count, counted, sentence, span } from "./words.js";

/** Payments whose last poll failed, shown below those that are late. */
const FAILED_MAX = 20;

/** The order of a payment, or its source. */
const name = (row) => row.order ?? id(row.source);

const why = (row) => row.reasons.slice(0, 3).map((reason) => h("span", { class: "line" }, reasonOf(reason)));

/** The page of late payments, and of those whose polls fail. */
export async function latePage({ stop }) {
  const [late, failed] = await Promise.all([
    maybe(at("v1/late", { limit: 100 }), { data: [], waiting: 0, has_more: false }),
    search("state=open error=any", null, { limit: FAILED_MAX, stop }).catch((error) => {
      // If the server reports too many records to read, the list of late payments stays.
      if (error.status !== 429) throw error;
      return { data: [], next: null };
    }),
  ]);
  return [
    head("Late payments", { note: "Open payments whose poll is overdue, most overdue first." }),
    table("Late payments", [
      { name: "Payment", cell: name },
      { name: "Overdue by", n: true, said: true, cell: (row) => span(row.late_ms) },
      { name: "Reason", why: true, whole: true, cell: why },
      { name: "Earliest poll", wide: true, cell: (row) => age(row.earliest_poll_at, "unknown") },
      { name: "Amount", n: true, wide: true, cell: (row) => sum(row.payment) },
      { name: "Lane", wide: true, cell: (row) => h("span", { class: "id soft" }, row.lane) },
    ], late.data, {
      link: paymentLink, key: (row) => `${row.account} ${row.source}`,
      nothing: "No late payments. Payments appear here when their poll is overdue.",
    }),
    late.has_more && h("p", { class: "soft" }, `${counted(late.waiting, "payment waits", "payments wait")} in the overdue lanes in total. `,
      may("lanes:read") && h("a", { href: "#/lanes" }, "Show lanes")),
    h("h2", null, "Last poll failed"),
    table("Payments whose last poll failed", [
      { name: "Payment", cell: name },
      { name: "Error", why: true, whole: true, cell: (watch) => sentence(watch.last_error) },
      { name: "State", wide: true, cell: watchBadge },
      { name: "Next poll", wide: true, cell: (watch) => age(watch.next_poll_at) },
      { name: "Amount", n: true, wide: true, cell: (watch) => sum(watch.payment) },
    ], failed.data, {
      link: paymentLink, key: (watch) => `failed ${watch.account} ${watch.source}`, nothing: "No failed polls. Open payments whose last poll failed appear here.",
    }),
    failed.next && h("p", null, h("a", { class: "button small", href: "#/payments?q=state%3Dopen%20error%3Dany" }, `More than ${count(FAILED_MAX)}: show all`)),
  ];
}

/** A link to a payment, named by its order if it has one. */
export const payment = (row) => row.source
  ? h("a", { class: "row cut", href: paymentLink(row), title: row.source, "data-key": `row ${row.account} ${row.source}` }, name(row))
  : row.order ? h("a", { class: "row", href: orderLink(row.order, row.account) }, row.order) : null;
