// One action on everything a query finds: counted first, then done with its progress shown, until somebody
// stops it.

import { may, post } from "./api.js";
import { dialog, labelled, select, toast } from "./dialogs.js";
import { h } from "./dom.js";
import { counted, upper } from "./words.js";

/** As many as one dialog does; who has more does it again. */
const MOST = 20000;

const actions = {
  poll: { text: "Look at them now", verb: "Look at", done: "looked at", scope: "watches:poll" },
  redrive: { text: "Redrive those in quarantine", verb: "Redrive", done: "watched again", scope: "watches:write" },
  dismiss: {
    text: "Dismiss those in quarantine", verb: "Dismiss", done: "out of quarantine", scope: "watches:write", danger: true,
    warns: "They are not looked at any more, and nobody is warned of them.",
  },
  cancel: {
    text: "Stop watching them", verb: "Stop watching", done: "not watched any more", scope: "watches:write", danger: true,
    warns: "Nobody will be told what becomes of them. The payments themselves are not touched: customers may still pay.",
  },
};

/**
 * Every part of what a query means, done or only counted; the server does a part at a time.
 *
 * Once stopped no further part is asked for. One that is being done is waited for: how many it was is known
 * only then.
 */
async function eachPart(q, action, isDryRun, stop, tell = () => {}) {
  const sum = { matched: 0, done: 0, parts: 0, next: null, isStopped: false };
  do {
    if (stop.aborted) return { ...sum, isStopped: true };
    const part = await post(`v1/watches/batch/${action}`, {
      q, ...(isDryRun ? { dry_run: true } : {}), ...(sum.next ? { cursor: sum.next } : {}),
    }, isDryRun ? stop : undefined);
    sum.parts += 1;
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
  const counting = new AbortController();
  const chosen = await dialog({
    title: "Act on all of these", submit: "Count them", stop: counting,
    body: [h("p", null, "Everything found for ", h("code", null, q), ". Nothing is done yet."),
      labelled("What to do", select("action", choices.map(([name, one]) => [name, one.text])))],
    done: async (form) => {
      const action = form.elements.action.value;
      return { action, told: await eachPart(q, action, true, counting.signal) };
    },
  });
  if (!chosen) return;
  const { action, told } = chosen;
  const { text, verb, done: word, danger, warns } = actions[action];
  if (told.matched === 0) {
    toast("Nothing to do: none of those that were found is one for that.");
    return;
  }
  const progress = h("progress", { max: told.matched, value: 0, hidden: true, "aria-label": "Progress" });
  const type = danger ? labelled(`Type ${told.matched} to go on`, h("input", {
    name: "word", required: true, autocomplete: "off", inputmode: "numeric",
  })) : null;
  // Payments move on while they are counted, part by part.
  const about = told.parts > 1 ? "about " : "";
  const stop = new AbortController();
  const result = await dialog({
    title: text, submit: `${verb} ${about}${counted(told.matched, "payment", "payments")}`, danger, stop, halt: "Stop here",
    body: [h("p", { id: "dry-run" },
      h("strong", null, about && upper(about), counted(told.matched, "payment is", "payments are")), " found for ", h("code", null, q), ".",
      told.next && " There are more: do it again for those."), warns && h("p", null, warns), type, progress],
    done: async (form) => {
      if (danger && form.elements.word.value.trim() !== String(told.matched)) throw new Error(`Type ${told.matched}.`);
      progress.hidden = false;
      return eachPart(q, action, false, stop.signal, (n) => { progress.value = n; });
    },
  });
  if (!result) return;
  if (result.isStopped) {
    toast(`Stopped: ${counted(result.done, "payment is", "payments are")} ${word}, the rest not.`);
    return;
  }
  const left = result.matched - result.done;
  toast(`${counted(result.done, "payment is", "payments are")} ${word}${left > 0 ? `; ${counted(left, "other", "others")} had changed meanwhile` : ""}.`);
}
