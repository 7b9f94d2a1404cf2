// One action on everything a query finds: counted first, then done with its progress shown.

import { api, at, isMissing, may, named, post, watchPath } from "./api.js";
import { dialog, labelled, select, toast } from "./dialogs.js";
import { h } from "./dom.js";
import { search } from "./query.js";
import { count, counted } from "./words.js";

/** As many as one dialog does; who has more does it again. */
const MOST = 5000;
const AT_ONCE = 6;

const actions = {
  poll: {
    text: "Look at them now", done: "looked at", scope: "watches:poll", fits: (watch) => watch.state === "open",
    run: (watch) => post(watchPath(watch, "poll")),
  },
  redrive: {
    text: "Redrive those in quarantine", done: "redriven", scope: "watches:write", fits: (watch) => watch.closed_reason === "dead",
    run: (watch) => post(at(`/v1/quarantine/${encodeURIComponent(watch.source)}/redrive`, named(watch))),
  },
  cancel: {
    text: "Stop watching them", done: "not watched any more", scope: "watches:write", danger: true,
    fits: (watch) => watch.state === "open", run: (watch) => api(watchPath(watch), { method: "DELETE" }),
  },
};

/** What a query means, counted: by the server, or by reading its pages here. */
async function dryRun(q, action) {
  try {
    return { ...(await post("/v1/watches/actions", { q, action, dry_run: true })), isServers: true };
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const found = [];
  let [cursor, looked] = [null, 0];
  do {
    const page = await search(q, cursor, 500);
    looked += Math.max(page.looked, page.data.length);
    found.push(...page.data.filter(actions[action].fits));
    cursor = page.next;
  } while (cursor && looked < MOST);
  return { matched: found.length, looked, next: cursor, found };
}

async function doAll({ found, isServers }, q, action, tell) {
  if (isServers) {
    let [done, next] = [0, null];
    do {
      const told = await post("/v1/watches/actions", { q, action, ...(next ? { cursor: next } : {}) });
      done += told.done;
      next = told.next;
      tell(done);
    } while (next);
    return { done, failed: 0 };
  }
  let [done, failed] = [0, 0];
  const left = [...found];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let watch = left.shift(); watch; watch = left.shift()) {
      try {
        await actions[action].run(watch);
        done += 1;
      } catch {
        failed += 1;
      }
      tell(done + failed);
    }
  }));
  return { done, failed };
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
      return { action, told: await dryRun(q, action) };
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
  progress.value = 0;
  const type = danger ? labelled(`Type ${told.matched} to go on`, h("input", { name: "word", required: true, autocomplete: "off", inputmode: "numeric" })) : null;
  const result = await dialog({
    title: text, submit: `${text.split(" ")[0]} ${counted(told.matched, "payment", "payments")}`, danger,
    body: [h("p", { id: "dry-run" }, h("strong", null, counted(told.matched, "payment is", "payments are")), " found that it can be done to.",
      told.next && " There are more: do it again for those."), type, progress],
    done: async (form) => {
      if (danger && form.elements.word.value.trim() !== String(told.matched)) throw new Error(`Type ${told.matched}.`);
      progress.hidden = false;
      return doAll(told, q, action, (n) => { progress.value = n; });
    },
  });
  if (!result) return;
  toast(`${counted(result.done, "payment is", "payments are")} ${word}${result.failed ? `; ${count(result.failed)} could not be` : ""}.`, result.failed > 0);
}
