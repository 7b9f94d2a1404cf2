// Suppressed recipients, and a button to send mail to one again.

import { Refused, api, at, may, maybe } from "./api.js";
import { h, show } from "./dom.js";
import { act, age, badge, card, head, id, pager, table } from "./parts.js";
import { plain, upper } from "./words.js";

const warning = "Only when the mailbox is back, or its owner has asked: who mails to dead addresses is taken for a spammer.";

async function look(box, recipient, account, refresh) {
  const path = at(`v1/mail/suppressions/${encodeURIComponent(recipient)}`, { account });
  try {
    const told = await api(path);
    show(box, h("p", { class: "outcome" },
      told.suppressed ? badge("Gets no mail", "bad") : badge("Gets mails", "good"),
      h("span", { class: "grow" }, recipient, told.suppressed && told.reason ? `: ${plain(told.reason)}` : ""),
      told.suppressed && may("mail:write") && act("Send mails again", {
        path, method: "DELETE", said: `${recipient} is sent mails again.`,
        then: async () => {
          await look(box, recipient, account, refresh);
          refresh();
        },
        ask: { title: `Send mails to ${recipient} again?`, submit: "Send again", text: warning },
      })));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    show(box, h("p", { class: "failure bad", role: "alert" }, error.detail));
  }
}

const name = (entry) => entry.recipient ?? h("span", { class: "soft" }, "followed the link of an earlier mail");

/** The list of suppressed recipients. */
function list(page, cursor, refresh) {
  return card({ title: "Suppressed addresses", note: "newest first" },
    table("Suppressed addresses", [
      { name: "Address", why: true, cell: name },
      { name: "Reason", cell: (entry) => upper(plain(entry.reason)) },
      { name: "Since", cell: (entry) => age(entry.since) },
      { name: "Account", wide: true, cell: (entry) => h("span", { class: "soft" }, entry.account ?? (entry.recipient ? "all" : "not known")) },
      { name: "Id", wide: true, cell: (entry) => id(entry.id) },
      may("mail:write") && { name: "", act: true, cell: (entry) => act("Lift", {
        path: `v1/mail/entries/${encodeURIComponent(entry.id)}`, method: "DELETE", small: true, then: refresh, key: `lift ${entry.id}`,
        said: "The recipient is sent mails again.",
        ask: { title: `Send mails to ${entry.recipient ?? "this recipient"} again?`, submit: "Send again", text: warning },
      }) },
    ], page.data, { nothing: "Nobody is suppressed: every recipient is sent mails." }),
    pager({ ...page, next: page.has_more ? page.next : null, cursor, href: (next) => at("#/mail", { cursor: next }) }));
}

/** What was typed, and what came of it: the next refresh of the page leaves it alone. */
let form = null;

function lookup(query, refresh) {
  const recipient = query.get("to") ?? "";
  const box = h("div", { "aria-live": "polite" });
  const field = h("input", { id: "recipient", name: "recipient", type: "email", required: true, value: recipient, placeholder: "jane@example.com" });
  const part = card({ title: "Check an email address", note: "the list shows only parts of addresses" }, h("form", {
    class: "inline", onsubmit: (event) => {
      event.preventDefault();
      location.hash = `/mail?to=${encodeURIComponent(field.value.trim())}`;
    },
  }, h("label", { for: "recipient", class: "hidden" }, "Address"), field, h("button", { class: "primary" }, "Look")), box);
  return { part, read: recipient ? look(box, recipient, query.get("account"), refresh) : null };
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
    head("Mail", { note: "A mailbox that is missing, a complaint or an unsubscribed recipient is sent nothing more." }),
    form,
    page && list(page, cursor, refresh),
  ];
}
