// Disputes with their deadlines, as the upstream has them now.

import { at, maybe } from "./api.js";
import { copyButton } from "./dialogs.js";
import { h } from "./dom.js";
import { payment } from "./late.js";
import { age, badge, head, id, table, tabs } from "./parts.js";
import { ago, moment, money, plain, upper } from "./words.js";

/** Closer than this a deadline is marked. */
const SOON_MS = 3 * 864e5;

function deadline(row) {
  if (!row.due_at) return h("span", { class: "soft" }, "–");
  const left = new Date(row.due_at) - Date.now();
  const day = h("span", { class: "soft line small" }, moment(row.due_at));
  if (!row.needs_response) return [age(row.due_at), day];
  if (left < 0) return [badge("Passed", "bad"), day];
  return [left < SOON_MS ? h("strong", { class: "bad" }, age(row.due_at)) : age(row.due_at), day];
}

const colours = { won: "good", warning_closed: "good", prevented: "good", lost: "bad" };
const state = (row) => badge(upper(plain(row.status)), row.needs_response ? "careful" : colours[row.status] ?? "info");

/** What can be done about a dispute: it is answered at the upstream. */
function next(row) {
  if (!row.needs_response) return null;
  const command = `stripe disputes update ${row.id} -d "evidence[uncategorized_text]=…" -d submit=true`;
  return copyButton(command, "Copy the command", () => {});
}

/** The list of disputes. */
export async function disputesPage({ query }) {
  const isAll = query.get("closed") === "1";
  const told = await maybe(at("v1/disputes", { closed: isAll ? true : null }));
  const title = head("Disputes", {
    note: told ? `Read from the upstream ${ago(told.read_at)}. Those with the nearest deadline come first; answer them with Stripe's command line or at the upstream.`
      : "Customers or banks that want money back.",
  });
  if (!told) return [title, h("p", { class: "empty" }, "This server has no upstream whose disputes it can read. Set STRIPE_API_KEY.")];
  return [
    title,
    h("div", { class: "bar" }, tabs("Which", [["", "Open", "#/disputes"], ["1", "All", "#/disputes?closed=1"]], isAll ? "1" : "")),
    told.unread.map((one) => h("p", { class: "failure bad", role: "alert" }, `The disputes of account ${one.account} cannot be read: ${one.reason}`)),
    table("Disputes", [
      { name: "Deadline", cell: deadline },
      { name: "Payment", cell: (row) => payment(row) ?? h("span", { class: "soft" }, "not watched") },
      { name: "Amount", n: true, cell: (row) => money(row.amount, row.currency) },
      { name: "Status", cell: state },
      { name: "Reason", wide: true, cell: (row) => plain(row.reason ?? "") },
      { name: "Dispute", wide: true, cell: (row) => h("span", { class: "id soft cut", title: row.id }, row.id) },
      { name: "Account", wide: true, cell: (row) => h("span", { class: "soft" }, row.account) },
      { name: "", act: true, cell: next },
    ], told.data, { nothing: isAll ? "There was no dispute yet." : "There is no open dispute." }),
  ];
}
