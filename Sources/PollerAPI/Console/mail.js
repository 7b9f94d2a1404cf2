// Suppressed email addresses, and a button to remove one from the list.

import { Refused, api, at, may, maybe } from "./api.js";
import { h, show } from "./dom.js";
import { act, age, badge, card, head, id, pager, table } from "./parts.js";
import { plain, upper } from "./words.js";

const warning = "Do this only when the mailbox works again or its owner has asked. Sending to invalid addresses damages the sender's reputation.";

async function check(box, recipient, account, refresh) {
  const path = at(`v1/mail/suppressions/${encodeURIComponent(recipient)}`, { account });
  try {
    const result = await api(path);
    show(box, h("p", { class: "outcome" },
      result.suppressed ? badge("Suppressed", "bad") : badge("Not suppressed", "good"),
      h("span", { class: "grow" }, recipient, result.suppressed && result.reason ? `: ${plain(result.reason)}` : ""),
      result.suppressed && may("mail:write") && act("Remove suppression", {
        path, method: "DELETE", said: `${recipient} receives email again.`,
        then: async () => {
          await check(box, recipient, account, refresh);
          refresh();
        },
        ask: { title: `Remove the suppression of ${recipient}?`, submit: "Remove suppression", text: warning },
      })));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    show(box, h("p", { class: "failure bad", role: "alert" }, error.detail));
  }
}

const name = (entry) => entry.recipient ?? h("span", { class: "soft" }, "unsubscribed by link");

/** The list of suppressed recipients. */
function list(page, cursor, refresh) {
  return card({ title: "Suppressed addresses", note: "newest first" },
    table("Suppressed addresses", [
      { name: "Address", why: true, cell: name },
      { name: "Reason", cell: (entry) => upper(plain(entry.reason)) },
      { name: "Since", cell: (entry) => age(entry.since) },
      { name: "Account", wide: true, cell: (entry) => h("span", { class: "soft" }, entry.account ?? (entry.recipient ? "all" : "unknown")) },
      { name: "ID", wide: true, cell: (entry) => id(entry.id) },
      may("mail:write") && { name: "", act: true, cell: (entry) => act("Remove", {
        path: `v1/mail/entries/${encodeURIComponent(entry.id)}`, method: "DELETE", small: true, then: refresh, key: `lift ${entry.id}`,
        said: "The recipient receives email again.",
        ask: { title: `Remove the suppression of ${entry.recipient ?? "this recipient"}?`, submit: "Remove suppression", text: warning },
      }) },
    ], page.data, { nothing: "No suppressed addresses. Addresses appear here after a hard bounce, a complaint or an unsubscribe." }),
    pager({ ...page, next: page.has_more ? page.next : null, cursor, href: (next) => at("#/mail", { cursor: next }) }));
}

/** The form with its result; a refresh of the page keeps it. */
let form = null;

function lookup(query, refresh) {
  const recipient = query.get("to") ?? "";
  const box = h("div", { "aria-live": "polite" });
  const field = h("input", { id: "recipient", name: "recipient", type: "email", required: true, value: recipient, placeholder: "jane@example.com" });
  const part = card({ title: "Check an email address", note: "the list shows addresses only in part" }, h("form", {
    class: "inline", onsubmit: (event) => {
      event.preventDefault();
      location.hash = `/mail?to=${encodeURIComponent(field.value.trim())}`;
    },
  }, h("label", { for: "recipient", class: "hidden" }, "Address"), field, h("button", { class: "primary" }, "Check")), box);
  return { part, read: recipient ? check(box, recipient, query.get("account"), refresh) : null };
}

/** The page of suppressed recipients. */
export async function mailPage({ query, isNew, refresh }) {
  const cursor = query.get("cursor");
  const page = await maybe(at("v1/mail/suppressions", { limit: 50, cursor }));
  if (isNew || !form) {
    const made = lookup(query, refresh);
    form = made.part;
    await made.read;
  }
  return [
    head("Email", { note: "Email addresses that receive nothing after a hard bounce, a complaint or an unsubscribe." }),
    form,
    page && list(page, cursor, refresh),
  ];
}
