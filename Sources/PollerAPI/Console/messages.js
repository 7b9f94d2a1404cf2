// The text of an email or the body of a webhook, as it was sent to a recipient.

import { api } from "./api.js";
import { copyButton, dialog } from "./dialogs.js";
import { h } from "./dom.js";
import { facts } from "./parts.js";
import { moment } from "./words.js";

/** The body, with JSON indented. */
function readable(message) {
  if (!message.type.startsWith("application/json")) return message.text;
  try {
    return JSON.stringify(JSON.parse(message.text), null, 2);
  } catch {
    return message.text;
  }
}

/** Says whether the text is identical to the one that was sent. */
function exactness(message) {
  if (!message.sent_at) return "Not delivered yet. This text will be sent.";
  if (message.as_sent === true) return "This is the text that was sent.";
  if (message.as_sent === false) return "The template, the branding or the endpoint has changed since. The text or the address that was used differs from this one.";
  return "Rebuilt from the event. The delivery log has expired, so the text that was sent may differ.";
}

/** Shows the message of an event to a recipient. */
export async function showMessage(delivery, seq) {
  const message = await api(`v1/deliveries/${encodeURIComponent(delivery)}/messages/${seq}`);
  await dialog({
    title: message.subject ?? `Event ${message.seq}`, submit: "Close", last: true, isWide: true,
    body: [
      facts([["To", message.to], ["Sent", message.sent_at && moment(message.sent_at)], ["Event", message.event]]),
      h("p", { class: "soft small" }, exactness(message)),
      h("pre", { class: "message", tabindex: "0", role: "region", "aria-label": "Message" }, readable(message)),
      h("p", null, copyButton(message.text)),
    ],
  });
}
