// Health: the doctor's findings, the worst first.

import { api } from "./api.js";
import { h } from "./dom.js";
import { act, age, badge, card, head } from "./parts.js";
import { counted, sentence } from "./words.js";

/** The doctor reads the upstreams too, so the page asks it when it is opened, and when a person wants it. */
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
  const text = bad ? counted(bad, "check fails", "checks fail") : careful ? counted(careful, "warning", "warnings") : "Every check passes.";
  return h("section", { class: `verdict ${bad ? "bad" : careful ? "careful" : "good"}` }, h("h2", null, text),
    h("p", null, "Checked ", age(new Date(askedAt).toISOString()), ", also by pollerctl doctor."));
}

/** The page of checks. */
export async function healthPage({ refresh }) {
  if (Date.now() - askedAt > LATE_MS) await ask();
  return [
    head("Health", { note: "The store, the upstreams, the processes and the settings.", tools: act("Check again", { run: ask, then: refresh, key: "doctor" }) }),
    verdict(),
    card("Checks", h("ul", { class: "checks" }, checks.checks.toSorted((a, b) => rank(a) - rank(b)).map((check) => {
      const [word, colour] = words[check.status] ?? [check.status, ""];
      return h("li", null, badge(word, colour), h("div", null,
        h("p", null, h("strong", null, check.name), " ", check.message),
        check.action && h("p", { class: "soft" }, sentence(check.action))));
    }))),
  ];
}
