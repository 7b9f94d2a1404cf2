// One action on everything a query finds: counted first, then done with its progress shown.

import { may, post } from "./api.js";
import { dialog, labelled, select, toast } from "./dialogs.js";
import { h } from "./dom.js";
import { counted } from "./words.js";

/** As many as one dialog does; who has more does it again. */
const MOST = 20000;

const actions = {
  poll: { text: "Look at them now", done: "looked at", scope: "watches:poll" },
  redrive: { text: "Redrive those in quarantine", done: "watched again", scope: "watches:write" },
  cancel: { text: "Stop watching them", done: "not watched any more", scope: "watches:write", danger: true },
};

/** Every part of what a query means, done or only counted; the server does a part at a time. */
async function eachPart(q, action, isDryRun, tell = () => {}) {
  const sum = { matched: 0, done: 0, next: null };
  do {
    const part = await post(`/v1/watches/batch/${action}`, {
      q, ...(isDryRun ? { dry_run: true } : {}), ...(sum.next ? { cursor: sum.next } : {}),
    });
    sum.matched += part.matched;
    sum.done += part.done;
    sum.next = part.next;
    tell(sum.matched);
  } while (sum.next && sum.matched < MOST);
  return sum;
}

/** Asks what to do with everything a query finds, counts, asks again, and does it. */
export async function actOnAll(q) {
  const choices = Object.entries(actions).filter(([, one]) => may(one.scope));
  const chosen = await dialog({
    title: "Act on all of these", submit: "Count them",
    body: [h("p", null, "Everything found for ", h("code", null, q), ". Nothing is done yet."),
      labelled("What to do", select("action", choices.map(([name, one]) => [name, one.text])))],
    done: async (form) => {
      const action = form.elements.action.value;
      return { action, told: await eachPart(q, action, true) };
    },
  });
  if (!chosen) return;
  const { action, told } = chosen;
  const { text, done: word, danger } = actions[action];
  if (told.matched === 0) {
    toast("Nothing to do: none of those that were found is one for that.");
    return;
  }
  const progress = h("progress", { max: told.matched, value: 0, hidden: true, "aria-label": "Progress" });
  const type = danger ? labelled(`Type ${told.matched} to go on`, h("input", {
    name: "word", required: true, autocomplete: "off", inputmode: "numeric",
  })) : null;
  const result = await dialog({
    title: text, submit: `${text.split(" ")[0]} ${counted(told.matched, "payment", "payments")}`, danger,
    body: [h("p", { id: "dry-run" },
      h("strong", null, counted(told.matched, "payment is", "payments are")), " found that it can be done to.",
      told.next && " There are more: do it again for those."), type, progress],
    done: async (form) => {
      if (danger && form.elements.word.value.trim() !== String(told.matched)) throw new Error(`Type ${told.matched}.`);
      progress.hidden = false;
      return eachPart(q, action, false, (n) => { progress.value = n; });
    },
  });
  if (!result) return;
  const left = result.matched - result.done;
  toast(`${counted(result.done, "payment is", "payments are")} ${word}${left > 0 ? `; ${counted(left, "other", "others")} had changed meanwhile` : ""}.`);
}
