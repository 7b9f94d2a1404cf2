// The health checks of the doctor, worst first.

import { api } from "./api.js";
import { h } from "./dom.js";
import { act, age, badge, card, head } from "./parts.js";
import { counted, sentence } from "./words.js";

/** The doctor also queries the upstreams, so its result is reused for this long unless the user asks again. */
const LATE_MS = 60000;
let [checks, askedAt] = [null, 0];

async function ask() {
  checks = await api("v1/doctor");
  askedAt = Date.now();
}

const words = { failed: ["Failed", "bad"], warning: ["Warning", "careful"], ok: ["OK", "good"] };
const order = Object.keys(words);
const rank = (check) => order.includes(check.status) ? order.indexOf(check.status) : order.length;

function verdict() {
  const bad = checks.checks.filter((check) => check.status === "failed").length;
  const careful = checks.checks.filter((check) => check.status === "warning").length;
  const text = bad ? counted(bad, "check fails", "checks fail") : careful ? counted(careful, "warning", "warnings") : "All checks pass.";
  return h("section", { class: `verdict ${bad ? "bad" : careful ? "careful" : "good"}` }, h("h2", null, text),
    h("p", null, "Checked ", age(new Date(askedAt).toISOString()), ". pollerctl doctor runs the same checks."));
}

/** The page of checks. */
export async function healthPage({ refresh }) {
  if (Date.now() - askedAt > LATE_MS) await ask();
  return [
    head("Health", { note: "Checks of the store, the upstreams, the processes and the configuration.", tools: act("Check again", { run: ask, then: refresh, key: "doctor" }) }),
    verdict(),
    card("Checks", h("ul", { class: "checks" }, checks.checks.toSorted((a, b) => rank(a) - rank(b)).map((check) => {
      const [word, colour] = words[check.status] ?? [check.status, ""];
      return h("li", null, badge(word, colour), h("div", null,
        h("p", null, h("strong", null, check.name), " ", check.message),
        check.action && h("p", { class: "soft" }, sentence(check.action))));
    }))),
  ];
}
