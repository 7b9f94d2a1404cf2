// Who is sent no mail, and to send it again.

import { Refused, api, at, may } from "./api.js";
import { h, show } from "./dom.js";
import { act, badge, card, head } from "./parts.js";
import { plain } from "./words.js";

async function look(box, recipient, account) {
  const path = at(`v1/mail/suppressions/${encodeURIComponent(recipient)}`, { account });
  try {
    const told = await api(path);
    show(box, h("p", { class: "outcome" },
      told.suppressed ? badge("Gets no mail", "bad") : badge("Gets mails", "good"),
      h("span", { class: "grow" }, recipient, told.suppressed && told.reason ? `: ${plain(told.reason)}` : ""),
      told.suppressed && may("mail:write") && act("Send mails again", {
        path, method: "DELETE", then: () => look(box, recipient, account), said: `${recipient} is sent mails again.`,
        ask: {
          title: `Send mails to ${recipient} again?`, submit: "Send again",
          text: "Only when the mailbox is back, or its owner has asked: who mails to dead addresses is taken for a spammer.",
        },
      })));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    show(box, h("p", { class: "failure bad", role: "alert" }, error.detail));
  }
}

/** Whether an address is sent mails. */
export async function mailPage({ query, isNew }) {
  // What somebody types is not taken away by the next look.
  if (!isNew) return null;
  const recipient = query.get("to") ?? "";
  const box = h("div", { "aria-live": "polite" });
  const field = h("input", { id: "recipient", name: "recipient", type: "email", required: true, value: recipient, placeholder: "jane@example.com" });
  if (recipient) await look(box, recipient, query.get("account"));
  return [
    head("Mail", { note: "A mailbox that was gone, complained or unsubscribed is sent nothing more." }),
    card("Is somebody sent mails?", h("form", {
      class: "inline", onsubmit: (event) => {
        event.preventDefault();
        location.hash = `/mail?to=${encodeURIComponent(field.value.trim())}`;
      },
    }, h("label", { for: "recipient", class: "hidden" }, "Address"), field, h("button", { class: "primary" }, "Look")), box),
  ];
}
