// The text of an email or the body of a webhook, as it was sent to a recipient.

import { api } from "./api.js";
import { copyButton, dialog } from "./dialogs.js";
import { h } from "./dom.js";
import { facts } from "./parts.js";
import { moment } from "./words.js";

/** The body for people: JSON with line breaks. */
function readable(message) {
  if (!message.type.startsWith("application/json")) return message.text;
  try {
    return JSON.stringify(JSON.parse(message.text), null, 2);
  } catch {
    return message.text;
  }
}

/** Whether the text is the one that was sent, in a sentence. */
function exactness(message) {
  if (!message.sent_at) return "Not delivered yet. This is what is sent.";
  if (message.as_sent === true) return "This is the text that was sent.";
  if (message.as_sent === false) return "The template, the branding or the endpoint has changed since: what was sent was another text, or went to another address.";
  return "Composed again from the event. The log that could tell whether it has changed since is no longer kept.";
}

/** Shows what a recipient was sent about an event. */
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
