// Dialogs, form fields and notices.

import { find, h, show } from "./dom.js";

/** Shows a notice for six seconds; an error stays until the user closes it. */
export function toast(text, isBad = false) {
  const close = h("button", { type: "button", class: "quiet", onclick: () => box.remove() }, "Close");
  const box = h("div", { class: isBad ? "toast bad" : "toast" }, h("span", null, text), close);
  find("#toasts").append(box);
  while (find("#toasts").children.length > 4) find("#toasts").firstChild.remove();
  if (!isBad) setTimeout(() => box.remove(), 6000);
}

/**
 * A dialog with a form; resolves with the result of `done(form)`, or null when cancelled.
 *
 * When `done` throws, the dialog stays open and shows the error. Cancelling aborts `stop`. `halt` is the label of
 * Cancel while `done` runs; the dialog then waits for its result. `isKept` dialogs close only with their button.
 * `opened(form, send)` is called at the end.
 */
export function dialog({
  title, body = [], submit = "OK", danger = false, done = () => true, last = false, stop, halt, isKept = false, isWide = false, opened,
}) {
  return new Promise((resolve) => {
    let [result, isRunning, isOver] = [null, false, false];
    const wrong = h("p", { class: "bad wrong", role: "alert", hidden: true });
    const send = h("button", { class: danger ? "primary danger" : "primary" }, submit);
    const cancel = last ? null
      : h("button", { type: "button", onclick: () => dismiss() }, "Cancel");
    const dismiss = () => {
      stop?.abort();
      if (!isRunning || !halt) {
        box.close();
        return;
      }
      cancel.textContent = "Stopping …";
      cancel.disabled = true;
    };
    const form = h("form", {
      method: "dialog",
      onsubmit: async (event) => {
        event.preventDefault();
        if (send.disabled) return;
        [send.disabled, wrong.hidden, isRunning] = [true, true, true];
        if (halt && cancel) cancel.textContent = halt;
        try {
          result = await done(form, send);
          isOver = true;
          box.close();
        } catch (error) {
          wrong.textContent = error.message;
          wrong.hidden = false;
          if (cancel) [cancel.textContent, cancel.disabled] = ["Cancel", false];
        }
        [send.disabled, isRunning] = [false, false];
      },
    }, h("h2", { id: "dialog-title" }, title), body, wrong, h("div", { class: "buttons" }, cancel, send));
    const box = h("dialog", {
      class: isWide ? "broad" : null, "aria-labelledby": "dialog-title",
      oncancel: (event) => {
        if (!isKept && !cancel) return;
        event.preventDefault();
        if (!isKept) dismiss();
      },
      onclose: () => {
        // Browsers close a dialog on the second Escape, even when the event is cancelled.
        if (isKept && !isOver) {
          box.showModal();
          return;
        }
        box.remove();
        resolve(result);
      },
    }, form);
    document.body.append(box);
    box.showModal();
    (form.querySelector("input, select, textarea") ?? (danger ? cancel : send) ?? send).focus();
    opened?.(form, send);
  });
}

/** Asks for confirmation; `word` must be typed for irreversible actions. */
export function confirm({ title, text, submit, word, danger = true }) {
  const field = word ? labelled(`Type ${word} to confirm`, h("input", {
    name: "word", autocomplete: "off", required: true,
  })) : null;
  return dialog({
    title, submit, danger,
    body: [[text].flat().map((line) => h("p", null, line)), field],
    done: (form) => {
      if (word && form.elements.word.value.trim() !== String(word)) throw new Error(`Type ${word}.`);
      return true;
    },
  });
}

let fields = 0;
/** A field with its label and an optional hint. */
export function labelled(label, field, note) {
  const id = `field-${fields += 1}`;
  field.id = id;
  const hint = note ? h("small", { id: `${id}-note`, class: "soft" }, note) : null;
  if (note) field.setAttribute("aria-describedby", `${id}-note`);
  return h("div", { class: "field" }, h("label", { for: id }, label), field, hint);
}

export function select(name, choices, chosen) {
  return h("select", { name }, choices.map(([value, text]) =>
    h("option", { value, selected: value === chosen }, text)));
}

let asking = null;

/**
 * Asks for an API key and waits for it; concurrent requests share the dialog.
 *
 * When a key was revoked or has expired, the content it gave access to is removed.
 */
export function askForKey(isWrong, hasExpired) {
  asking ??= (async () => {
    let text = "";
    if (hasExpired) {
      show(find("#main"), h("h1", null, "Signed out"));
      for (const one of document.querySelectorAll("dialog")) one.remove();
    }
    // Nothing can be shown without a key, so the dialog cannot be cancelled.
    while (!text) {
      text = await dialog({
        title: "API key", submit: "Open the console", last: true,
        body: [
          h("p", null, "This server requires an API key. You are signed in in every tab of this browser, until you close "
            + "it or for twelve hours."),
          labelled("Key", h("input", {
            name: "key", type: "password", autocomplete: "off", required: true, maxlength: 200,
          })),
          isWrong && h("p", { class: "bad" }, hasExpired ? "Your key was revoked or has expired."
            : "This key is unknown or has expired."),
        ],
        done: (form) => form.elements.key.value.trim(),
      });
    }
    asking = null;
    return text;
  })();
  return asking;
}

/** The button is disabled this long, so that repeated key presses do not close the dialog unread. */
const READ_MS = 2000;

/** Shows a secret once; the dialog stays open until the user confirms that they saved it. */
export function showOnce({ title, text, secret }) {
  let have;
  const copy = copyButton(secret, "Copy", () => { have.disabled = false; });
  return dialog({
    title, submit: "I have saved it", last: true, isKept: true,
    body: [h("p", null, text), h("p", { class: "secret" }, h("code", null, secret), copy)],
    opened: (form, send) => {
      have = send;
      have.disabled = true;
      setTimeout(() => { have.disabled = false; }, READ_MS);
      copy.focus();
    },
  });
}

/** A button that copies a text to the clipboard. */
export function copyButton(text, label = "Copy", copied = () => {}) {
  const button = h("button", {
    type: "button", class: "quiet small", "data-key": `copy ${text}`,
    onclick: async (event) => {
      event.stopPropagation();
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
        copied();
      } catch {
        button.textContent = "Select it and copy";
      }
      setTimeout(() => { button.textContent = label; }, 2000);
    },
  }, label);
  return button;
}
