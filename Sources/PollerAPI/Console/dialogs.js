// What asks before it does something, and what says what came of it.

import { find, h, show } from "./dom.js";

/** Says something in a corner for a while; a failure stays until it is put away. */
export function toast(text, isBad = false) {
  const close = h("button", { type: "button", class: "quiet", onclick: () => box.remove() }, "Close");
  const box = h("div", { class: isBad ? "toast bad" : "toast" }, h("span", null, text), close);
  find("#toasts").append(box);
  while (find("#toasts").children.length > 4) find("#toasts").firstChild.remove();
  if (!isBad) setTimeout(() => box.remove(), 6000);
}

/**
 * A dialog with a form; resolves with `done(form)` of what was sent, or null when it was put away.
 *
 * `done` may throw: what it says stands in the dialog, which stays. `stop` is aborted by who puts the dialog
 * away; where there is `halt`, that is what Cancel says while `done` works, and the dialog waits for what
 * comes of it. `isKept` is a dialog that nothing but its button closes; `opened(form, send)` comes last.
 */
export function dialog({
  title, body = [], submit = "OK", danger = false, done = () => true, last = false, stop, halt, isKept = false, isWide = false, opened,
}) {
  return new Promise((resolve) => {
    let [result, isRunning, isOver] = [null, false, false];
    const wrong = h("p", { class: "bad wrong", role: "alert", hidden: true });
    const send = h("button", { class: danger ? "primary danger" : "primary" }, submit);
    const cancel = last ? null
      : h("button", { type: "button", onclick: () => putAway() }, "Cancel");
    const putAway = () => {
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
        if (!isKept) putAway();
      },
      onclose: () => {
        // A browser lets nobody hold a second Escape back.
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

/** Asks whether to do what hurts; `word` must be typed when it hurts much. */
export function confirm({ title, text, submit, word, danger = true }) {
  const field = word ? labelled(`Type ${word} to go on`, h("input", {
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
/** A field with its label, and what there is to say about it. */
export function labelled(label, field, note) {
  const id = `field-${fields += 1}`;
  field.id = id;
  const hint = note ? h("small", { id: `${id}-note`, class: "soft" }, note) : null;
  if (note) field.setAttribute("aria-describedby", `${id}-note`);
  return h("div", { class: "field" }, h("label", { for: id }, label), field, hint);
}

/** A choice of one. */
export function select(name, choices, chosen) {
  return h("select", { name }, choices.map(([value, text]) =>
    h("option", { value, selected: value === chosen }, text)));
}

let asking = null;

/**
 * Asks for a key and waits until one is given; all who need one share the question.
 *
 * What a key has shown that has ended is taken away.
 */
export function askForKey(isWrong, hasEnded) {
  asking ??= (async () => {
    let text = "";
    if (hasEnded) {
      show(find("#main"), h("h1", null, "Signed out"));
      for (const one of document.querySelectorAll("dialog")) one.remove();
    }
    // Without a key nothing can be shown, so the question cannot be put away.
    while (!text) {
      text = await dialog({
        title: "API key", submit: "Open the console", last: true,
        body: [
          h("p", null, "This server serves holders of a key only. Every tab of this browser is signed in, until the "
            + "browser is closed or for twelve hours."),
          labelled("Key", h("input", {
            name: "key", type: "password", autocomplete: "off", required: true, maxlength: 200,
          })),
          isWrong && h("p", { class: "bad" }, hasEnded ? "Your key was revoked or has ended."
            : "The server does not know this key, or it has ended."),
        ],
        done: (form) => form.elements.key.value.trim(),
      });
    }
    asking = null;
    return text;
  })();
  return asking;
}

/** Whoever presses a key too often has not read yet. */
const READ_MS = 2000;

/** Shows what is told once and never again: it goes only when somebody says that they have it. */
export function showOnce({ title, text, secret }) {
  let have;
  const copy = copyButton(secret, "Copy", () => { have.disabled = false; });
  return dialog({
    title, submit: "I have it", last: true, isKept: true,
    body: [h("p", null, text), h("p", { class: "secret" }, h("code", null, secret), copy)],
    opened: (form, send) => {
      have = send;
      have.disabled = true;
      setTimeout(() => { have.disabled = false; }, READ_MS);
      copy.focus();
    },
  });
}

/** A button that puts a text onto the clipboard. */
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
