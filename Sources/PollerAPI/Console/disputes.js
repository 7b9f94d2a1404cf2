// The list of disputes with their deadlines, read from the upstream.

import { at, maybe } from "./api.js";
import { copyButton } from "./dialogs.js";
import { h } from "./dom.js";
import { payment } from "./late.js";
import { age, badge, head, id, table, tabs } from "./parts.js";
import { ago, moment, money, plain, upper } from "./words.js";

/** Deadlines closer than this are highlighted. */
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

/** A command to respond to a dispute at the upstream. */
function next(row) {
  if (!row.needs_response) return null;
  const command = `stripe disputes update ${row.id} -d "evidence[uncategorized_text]=…" -d submit=true`;
  return copyButton(command, "Copy command", () => {});
}

/** The list of disputes. */
export async function disputesPage({ query }) {
  const isAll = query.get("closed") === "1";
  const page = await maybe(at("v1/disputes", { closed: isAll ? true : null }));
  const title = head("Disputes", {
    note: page ? `Read from the upstream ${ago(page.read_at)}, nearest deadline first. Respond in the Stripe Dashboard or with the Stripe CLI.`
      : "Payments that customers or banks have disputed.",
  });
  if (!page) return [title, h("p", { class: "empty" }, "Disputes of your Stripe accounts appear here. Set STRIPE_API_KEY on the server to read them.")];
  return [
    title,
    h("div", { class: "bar" }, tabs("Which", [["", "Open", "#/disputes"], ["1", "All", "#/disputes?closed=1"]], isAll ? "1" : "")),
    page.unread.map((one) => h("p", { class: "failure bad", role: "alert" }, `The disputes of account ${one.account} cannot be read: ${one.reason}`)),
    table("Disputes", [
      { name: "Deadline", cell: deadline },
      { name: "Payment", cell: (row) => payment(row) ?? h("span", { class: "soft" }, "not watched") },
      { name: "Amount", n: true, cell: (row) => money(row.amount, row.currency) },
      { name: "Status", cell: state },
      { name: "Reason", wide: true, cell: (row) => plain(row.reason ?? "") },
      { name: "Dispute", wide: true, cell: (row) => h("span", { class: "id soft cut", title: row.id }, row.id) },
      { name: "Account", wide: true, spare: true, cell: (row) => h("span", { class: "soft" }, row.account) },
      { name: "", act: true, cell: next },
    ], page.data, { nothing: isAll ? "No disputes." : "No open disputes. Choose All to see closed ones." }),
  ];
}
