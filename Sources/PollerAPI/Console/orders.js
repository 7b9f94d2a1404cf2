// The list of orders, and of orders that were paid twice.

import { accounts, at, collect, maybe, orderLink } from "./api.js";
import { labelled, select } from "./dialogs.js";
import { h } from "./dom.js";
import { age, badge, cut, head, pager, paymentBadge, sum, table, tabs } from "./parts.js";
import { count, money } from "./words.js";

/** The number of accounts read for one page; with more, the user chooses one. */
const ACCOUNTS_MAX = 20;
const PAGE = 50;

/** The accounts that the caller may choose among; `null` when they cannot be listed. */
async function choices() {
  const bound = accounts();
  if (bound) return bound;
  const page = await maybe("v1/accounts?limit=100");
  return page?.data.map((one) => one.id) ?? null;
}

/** The received amount beyond the order's amount that was not refunded. */
function surplus({ payment }) {
  const kept = (payment.amount_received ?? 0) - (payment.amount_returned ?? 0);
  if (payment.amount === undefined || kept <= payment.amount) return h("span", { class: "soft" }, "nothing");
  return h("strong", { class: "bad" }, money(kept - payment.amount, payment.currency));
}

/** The list of orders. */
export async function ordersPage({ query, stop }) {
  const isTwice = query.get("paid_twice") === "1";
  const cursor = query.get("cursor");
  const known = await choices();
  const chosen = query.get("account") ?? (known?.length === 1 ? known[0] : null);
  const link = (twice, account, next) => at("#/orders", { paid_twice: twice ? 1 : null, account, cursor: next });
  const read = (account, from) => collect("v1/orders", {
    account, paid_twice: isTwice ? true : null, limit: PAGE, cursor: from,
  }, { want: PAGE, rounds: chosen ? 10 : 2, stop });
  const names = chosen ? [chosen] : (known ?? ["default"]).slice(0, ACCOUNTS_MAX);
  const pages = [];
  if (isTwice) {
    // The server reads one such list of a key at a time, and rejects a key with too many waiting ones.
    for (const account of names) pages.push(await read(account, chosen ? cursor : null));
  } else {
    pages.push(...await Promise.all(names.map((account) => read(account, chosen ? cursor : null))));
  }
  const rows = pages.flatMap((page) => page.data).toSorted((a, b) => new Date(b.created_at) - new Date(a.created_at));
  const isCut = !chosen && (pages.some((page) => page.next) || (known?.length ?? 0) > ACCOUNTS_MAX);
  return [
    head("Orders", { back: ["#/payments", "Payments"], note: isTwice ? "More than one payment attempt of these orders succeeded." : "Newest first. Each order has all attempts to pay it." }),
    h("div", { class: "bar" },
      tabs("Which", [["", "All", link(false, chosen)], ["1", "Paid twice", link(true, chosen)]], isTwice ? "1" : ""),
      (known?.length ?? 0) > 1 && accountChoice(known, chosen, (account) => { location.hash = link(isTwice, account).slice(1); })),
    table("Orders", [
      { name: "Order", cell: (order) => cut(order.order) },
      { name: "Amount", n: true, cell: (order) => sum(order.payment) },
      !isTwice && { name: "Payment", cell: (order) => order.also_paid_by?.length ? badge("Paid twice", "bad") : paymentBadge(order.payment) },
      isTwice && { name: "To refund", n: true, said: true, cell: surplus },
      { name: "Attempts", n: true, wide: true, cell: (order) => count(order.members.length) },
      { name: "Account", wide: true, cell: (order) => h("span", { class: "soft" }, order.account) },
      { name: "Age", n: true, said: true, wide: isTwice, cell: (order) => age(order.created_at, "–", "old") },
    ], rows, {
      link: (order) => orderLink(order.order, order.account), key: (order) => `${order.account} ${order.order}`,
      nothing: isTwice ? "No order was paid twice." : "Orders appear here when payments have an order ID. Set one with pollerctl enqueue --order.",
    }),
    chosen ? pager({ ...pages[0], cursor, href: (next) => link(isTwice, chosen, next) })
      : isCut && h("p", { class: "soft" }, "There are more orders. Choose an account to see all of them."),
  ];
}

function accountChoice(known, chosen, go) {
  const field = select("account", [["", "All accounts"], ...known.map((name) => [name, name])], chosen ?? "");
  field.addEventListener("change", () => go(field.value || null));
  const box = labelled("Account", field);
  box.classList.add("beside");
  return box;
}
