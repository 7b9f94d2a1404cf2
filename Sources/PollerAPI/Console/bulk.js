// A bulk action on all results of a search: it counts first, asks for confirmation, and can be stopped.

import { may, post } from "./api.js";
import { dialog, labelled, select, toast } from "./dialogs.js";
import { h } from "./dom.js";
import { count, counted, upper } from "./words.js";

/** The most payments of one bulk action; repeat it for the rest. */
const MOST = 20000;

const actions = {
  poll: { text: "Poll now", verb: "Poll", done: "scheduled for a poll", scope: "watches:poll" },
  redrive: { text: "Redrive from quarantine", verb: "Redrive", done: "polled again", scope: "watches:write" },
  dismiss: {
    text: "Dismiss from quarantine", verb: "Dismiss", done: "dismissed", scope: "watches:write", danger: true,
    warns: "Polling does not resume, and the warnings disappear.",
  },
  cancel: {
    text: "Cancel watches", verb: "Cancel", done: "cancelled", scope: "watches:write", danger: true,
    warns: "Recipients get no further events. The payments themselves are not changed: customers can still pay.",
  },
};

/**
 * Runs or counts an action on all results of a search, one batch per request.
 *
 * After `stop` no further batch starts. The running batch is awaited, because its count is only known at its end.
 */
async function eachPart(q, action, isDryRun, stop, report = () => {}) {
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
    report(sum.matched);
  } while (sum.next && sum.matched < MOST);
  return sum;
}

/** Asks for an action, counts the payments, asks for confirmation and runs the action. */
export async function actOnAll(q) {
  const choices = Object.entries(actions).filter(([, one]) => may(one.scope));
  const counting = new AbortController();
  const chosen = await dialog({
    title: "Bulk action", submit: "Count", stop: counting,
    body: [h("p", null, "All results for ", h("code", null, q), ". This step only counts them."),
      labelled("Action", select("action", choices.map(([name, one]) => [name, one.text])))],
    done: async (form) => {
      const action = form.elements.action.value;
      return { action, counts: await eachPart(q, action, true, counting.signal) };
    },
  });
  if (!chosen) return;
  const { action, counts } = chosen;
  const { text, verb, done: result_, danger, warns } = actions[action];
  if (counts.matched === 0) {
    toast("No matching payment allows this action.");
    return;
  }
  const progress = h("progress", { max: counts.matched, value: 0, hidden: true, "aria-label": "Progress" });
  const type = danger ? labelled(`Type ${counts.matched} to confirm`, h("input", {
    name: "word", required: true, autocomplete: "off", inputmode: "numeric",
  })) : null;
  // Payments may change while they are counted in batches.
  const about = counts.parts > 1 ? "about " : "";
  const stop = new AbortController();
  const result = await dialog({
    title: text, submit: `${verb} ${about}${counted(counts.matched, "payment", "payments")}`, danger, stop, halt: "Stop",
    body: [h("p", { id: "dry-run" },
      h("strong", null, about && upper(about), counted(counts.matched, "payment is", "payments are")), " selected by ", h("code", null, q), ".",
      counts.next && " There are more. Repeat the action for the rest."), warns && h("p", null, warns), type, progress],
    done: async (form) => {
      if (danger && form.elements.word.value.trim() !== String(counts.matched)) throw new Error(`Type ${counts.matched}.`);
      progress.hidden = false;
      return eachPart(q, action, false, stop.signal, (n) => { progress.value = n; });
    },
  });
  if (!result) return;
  if (result.isStopped) {
    toast(`Stopped. ${counted(result.done, "payment", "payments")} ${result_}.`);
    return;
  }
  const left = result.matched - result.done;
  toast(`${counted(result.done, "payment", "payments")} ${result_}${left > 0 ? `; ${count(left)} skipped, because they changed meanwhile` : ""}.`);
}
