// The parts that pages are made of.

import { api } from "./api.js";
import { confirm, toast } from "./dialogs.js";
import { h } from "./dom.js";
import { ago, closing, count, isBlind, moment, money, payments, plain, span, upper } from "./words.js";

/** A page's head: what it is, and what can be done here. */
export function head(title, { note, tools = [], back } = {}) {
  document.title = `${typeof title === "string" ? title : title.textContent} · Poller`;
  return h("div", { class: "head" },
    h("div", null,
      back && h("a", { class: "back", href: back[0] }, `‹ ${back[1]}`),
      h("h1", { tabindex: "-1", "data-key": "title" }, title), note && h("p", { class: "soft" }, note)),
    h("div", { class: "tools" }, tools));
}

/** A part of a page with its own title. */
export function card(title, ...content) {
  const options = typeof title === "object" && title !== null && "title" in title ? title : { title };
  return h("section", { class: `card ${options.class ?? ""}`, "aria-label": options.title },
    options.title && h("div", { class: "card-head" },
      h("h2", null, options.title, options.note && h("small", null, options.note)), options.tools),
    content);
}

/** A word with a dot in the colour of what it means. */
export const badge = (text, colour = "", title) =>
  h("span", { class: `badge ${colour}`, title }, text);

/** What is true of the money of a watch or of an order. */
export function paymentBadge(payment, otherwise = "") {
  if (!payment) return otherwise ? badge(otherwise, "quiet") : h("span", { class: "soft" }, "–");
  const [word, colour, text] = payments[payment.state] ?? [payment.state, "", ""];
  return badge(word, colour, text);
}

/** What was not done any more before the money was known of. */
const UNTOLD = new Set(["awaiting_customer", "processing", "authorised"]);

/** What is true of a payment; of one whose money is not known, what the upstream says; and that nobody looks any more. */
export function watchBadge(watch) {
  if (watch.closed_reason === "dead") return badge("Quarantine", "bad", watch.last_error);
  if (isBlind(watch)) return badge("Not known", "bad", closing(watch));
  const otherwise = watch.status ?? (watch.state === "open" ? "not seen yet" : watch.closed_reason);
  const isLeft = ["cancelled", "gone", "expired"].includes(watch.closed_reason)
    && (!watch.payment || UNTOLD.has(watch.payment.state));
  return [paymentBadge(watch.payment, upper(plain(otherwise))), isLeft && h("span", { class: "soft left" }, " · not watched")];
}

/** What a program or a server said, which may be long. */
export const excerpt = (text) => h("code", { class: "excerpt", tabindex: "0" }, text);

/** A moment as people count it, kept right while the page is open; the whole one when asked. */
export function age(text, otherwise = "–", say = "ago") {
  if (!text) return h("span", { class: "soft" }, otherwise);
  return h("time", { datetime: text, title: moment(text), "data-age": text, "data-say": say }, ages[say](text));
}

const ages = { ago, old: (text) => span(Date.now() - new Date(text)) };

// What is `7 min ago` now is not so for long.
setInterval(() => {
  for (const one of document.querySelectorAll("time[data-age]")) one.textContent = ages[one.dataset.say](one.dataset.age);
}, 5000);

/** An id in the type of a machine. */
export const id = (text) => h("span", { class: "id" }, text);

/** The sum of a payment, and what of it has come when that is not all or nothing. */
export function sum(payment) {
  if (!payment || payment.amount === undefined) {
    return payment?.amount_received ? money(payment.amount_received, payment.currency) : "–";
  }
  return money(payment.amount, payment.currency);
}

/**
 * A table. A column is `{name, cell, n?, wide?, spare?, why?, act?, said?}`: what its head says, what makes a
 * cell's content of a row, whether it holds numbers, is for wide screens alone, only where there is room to spare, wraps,
 * holds buttons, and whether its name stands before it where a phone shows no heads.
 * `link(row)` makes the whole row lead somewhere.
 */
export function table(label, columns, rows, { nothing = "Nothing.", link, key = (row) => row.id, below } = {}) {
  const shown = columns.filter(Boolean);
  const classes = (column) =>
    [column.n && "n", column.wide && "wide", column.spare && "spare", column.why && "why", column.act && "act", column.said && "said"].filter(Boolean).join(" ") || null;
  const line = (row) => {
    const href = link?.(row);
    const cells = shown.map((column, index) => {
      const content = column.cell(row);
      return h("td", { class: classes(column), "data-name": column.said ? column.name : null },
        href && index === 0 ? h("a", { class: "row", href, "data-key": `row ${key(row)}` }, content) : content);
    });
    const extra = below?.(row);
    return [
      h("tr", {
        class: href ? "goes" : null,
        onclick: href ? (event) => {
          const taken = event.target.closest("a, button, input, summary");
          if (!taken && document.getSelection().isCollapsed) location.hash = href.slice(1);
        } : null,
      }, cells),
      extra && h("tr", { class: "below" }, h("td", { colspan: shown.length }, extra)),
    ];
  };
  if (rows.length === 0) return h("p", { class: "empty" }, nothing);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", null,
      h("thead", null, h("tr", null, shown.map((column) =>
        h("th", { class: classes(column), scope: "col" },
          column.name || h("span", { class: "hidden" }, column.says ?? "Actions"))))),
      h("tbody", null, rows.map(line))));
}

/** Names with their values. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
    .map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

/** Links of which one is where we are. */
export function tabs(label, choices, chosen) {
  return h("div", { class: "tabs", role: "group", "aria-label": label }, choices.map(([value, text, href]) =>
    h("a", { href, "aria-current": value === chosen ? "true" : null, "data-key": `tab ${value}` }, text)));
}

/** `Next page`, and back to the first. */
export function pager({ next, cursor, href, looked = 0, data }) {
  const more = next ? h("a", { class: "button", href: href(next), rel: "next" }, "Next page") : null;
  const first = cursor ? h("a", { class: "button", href: href(null) }, "First page") : null;
  const told = next && looked > data.length ? `${count(looked)} were looked at; there are more to look at.` : null;
  if (!more && !first && !told) return null;
  return h("div", { class: "pager" }, first, more, told && h("span", { class: "soft" }, told));
}

/** When the page is read again after an action: what follows from it is done by other processes, and soon. */
const FOLLOW_MS = [1000, 3000];

/** Shows the page again after an action, as long as the person stays on it. */
function follow(then, place) {
  for (const ms of FOLLOW_MS) {
    setTimeout(() => {
      if (location.hash === place) then();
    }, ms);
  }
}

/**
 * A button that does something and says what came of it.
 *
 * `ask` is what `confirm` asks before; `path` is posted to unless there is a `run`. `then` shows the page as it is now,
 * and is called again while what the action has begun goes on.
 */
export function act(label, { path, method = "POST", body, run, ask, then, said, danger, small, key, title }) {
  const button = h("button", {
    type: "button", title, class: [small && "small", danger && "danger"].filter(Boolean).join(" ") || null,
    "data-key": key ?? `act ${label} ${path ?? ""}`,
    onclick: async (event) => {
      event.stopPropagation();
      const place = location.hash;
      if (ask && !(await confirm(ask))) return;
      button.disabled = true;
      button.setAttribute("aria-busy", "true");
      try {
        const answer = await (run ? run() : api(path, { method, body }));
        if (said) toast(typeof said === "function" ? said(answer) : said);
        button.removeAttribute("aria-busy");
        if (answer !== null) await then?.(answer);
        if (answer !== null && then) follow(() => then(answer), place);
      } catch (error) {
        toast(error.message, true);
      } finally {
        button.disabled = false;
        button.removeAttribute("aria-busy");
      }
    },
  }, label);
  return button;
}

/** Says why something cannot be shown. */
export const failure = (error) =>
  h("p", { class: "failure bad", role: "alert" }, error.message);
