// Components shared by the pages.

import { api } from "./api.js";
import { confirm, toast } from "./dialogs.js";
import { h } from "./dom.js";
import { ago, closing, count, isBlind, moment, money, payments, plain, span, upper } from "./words.js";

/** The header of a page: title, description and actions. */
export function head(title, { note, tools = [], back } = {}) {
  document.title = `${typeof title === "string" ? title : title.textContent} · Poller`;
  return h("div", { class: "head" },
    h("div", null,
      back && h("a", { class: "back", href: back[0] }, `‹ ${back[1]}`),
      h("h1", { tabindex: "-1", "data-key": "title" }, title), note && h("p", { class: "soft" }, note)),
    h("div", { class: "tools" }, tools));
}

/** A section with a title. */
export function card(title, ...content) {
  const options = typeof title === "object" && title !== null && "title" in title ? title : { title };
  return h("section", { class: `card ${options.class ?? ""}`, "aria-label": options.title },
    options.title && h("div", { class: "card-head" },
      h("h2", null, options.title, options.note && h("small", null, options.note)), options.tools),
    content);
}

/** A label with a coloured dot. */
export const badge = (text, colour = "", title) =>
  h("span", { class: `badge ${colour}`, title }, text);

/** The payment state of a watch or an order. */
export function paymentBadge(payment, otherwise = "") {
  if (!payment) return otherwise ? badge(otherwise, "quiet") : h("span", { class: "soft" }, "–");
  const [word, colour, text] = payments[payment.state] ?? [payment.state, "", ""];
  return badge(word, colour, text);
}

/** Payment states without an outcome. */
const UNDECIDED = new Set(["awaiting_customer", "processing", "authorised"]);

/** The payment state, or the upstream status without one; and whether the watch closed before an outcome. */
export function watchBadge(watch) {
  if (watch.closed_reason === "dead") return badge("Quarantine", "bad", watch.last_error);
  if (isBlind(watch)) return badge("Unknown", "bad", closing(watch));
  const otherwise = watch.status ?? (watch.state === "open" ? "not polled yet" : watch.closed_reason);
  const isAbandoned = ["cancelled", "gone", "expired"].includes(watch.closed_reason)
    && (!watch.payment || UNDECIDED.has(watch.payment.state));
  return [paymentBadge(watch.payment, upper(plain(otherwise))), isAbandoned && h("span", { class: "soft left" }, " · not watched")];
}

/** Text of a program or server, which may be long. */
export const excerpt = (text) => h("code", { class: "excerpt", tabindex: "0" }, text);

/** A relative time that stays current while the page is open; its tooltip is the full time. */
export function age(text, otherwise = "–", say = "ago") {
  if (!text) return h("span", { class: "soft" }, otherwise);
  return h("time", { datetime: text, title: moment(text), "data-age": text, "data-say": say }, ages[say](text));
}

const ages = { ago, old: (text) => span(Date.now() - new Date(text)) };

// Keeps relative times current.
setInterval(() => {
  for (const one of document.querySelectorAll("time[data-age]")) one.textContent = ages[one.dataset.say](one.dataset.age);
}, 5000);

/** An ID in monospace. */
export const id = (text) => h("span", { class: "id" }, text);

/** A text that is cut when it is long; a phone wraps it instead. */
export const cut = (text, isShort = false) => text ? h("span", { class: isShort ? "cut short" : "cut", title: text }, text) : "";

/** The amount of a payment; the received amount when no amount is known. */
export function sum(payment) {
  if (!payment || payment.amount === undefined) {
    return payment?.amount_received ? money(payment.amount_received, payment.currency) : "–";
  }
  return money(payment.amount, payment.currency);
}

/** The columns at the right edge of a phone: every second one. */
function phoneEnds(columns) {
  const ends = new Set();
  let isRight = false;
  for (const column of columns.filter((one) => !one.wide)) {
    const isWhole = column.whole || column.act;
    if (isRight && !isWhole) ends.add(column);
    isRight = !isWhole && !isRight;
  }
  return ends;
}

/**
 * A table. A column is `{name, cell, n?, wide?, spare?, why?, act?, said?, whole?}`.
 *
 * `name` is the header and `cell(row)` returns the content. `n` columns hold numbers, `wide` ones are hidden on phones,
 * `spare` ones on all but very wide screens. `why` columns wrap, `act` columns hold buttons. `link(row)` makes the whole
 * row a link.
 *
 * A phone shows each row as a block of two columns without headers: a `said` column shows its name before the value, a
 * `whole` one takes the full width. An `isSmall` table has few short columns and stays a table.
 */
export function table(label, columns, rows, { nothing = "No entries.", link, key = (row) => row.id, below, isSmall = false } = {}) {
  const shown = columns.filter(Boolean);
  const ends = phoneEnds(shown);
  const classes = (column) => [...["n", "wide", "spare", "why", "act", "said", "whole"].filter((name) => column[name]),
    ends.has(column) && "end"].filter(Boolean).join(" ") || null;
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
          const control = event.target.closest("a, button, input, summary");
          if (!control && document.getSelection().isCollapsed) location.hash = href.slice(1);
        } : null,
      }, cells),
      extra && h("tr", { class: "below" }, h("td", { colspan: shown.length }, extra)),
    ];
  };
  if (rows.length === 0) return h("p", { class: "empty" }, nothing);
  // The card around a table may have the same name, and landmarks need unique ones.
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${label}, table` },
    h("table", { class: isSmall ? null : "blocks" },
      h("thead", null, h("tr", null, shown.map((column) =>
        h("th", { class: classes(column), scope: "col" },
          column.name || h("span", { class: "hidden" }, column.says ?? "Actions"))))),
      h("tbody", null, rows.map(line))));
}

/** A list of names and values. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
    .map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

/** Links with one marked as current. */
export function tabs(label, choices, chosen) {
  return h("div", { class: "tabs", role: "group", "aria-label": label }, choices.map(([value, text, href]) =>
    h("a", { href, "aria-current": value === chosen ? "true" : null, "data-key": `tab ${value}` }, text)));
}

/** Links to the next and the first page. */
export function pager({ next, cursor, href, looked = 0, data }) {
  const more = next ? h("a", { class: "button", href: href(next), rel: "next" }, "Next page") : null;
  const first = cursor ? h("a", { class: "button", href: href(null) }, "First page") : null;
  const progress = next && looked > data.length ? `${count(looked)} records searched. The next page searches more.` : null;
  if (!more && !first && !progress) return null;
  return h("div", { class: "pager" }, first, more, progress && h("span", { class: "soft" }, progress));
}

/** When the page is read again after an action, whose effects other processes complete soon after. */
const FOLLOW_MS = [1000, 3000];

/** Reads the page again after an action while it is still open. */
function follow(then, place) {
  for (const ms of FOLLOW_MS) {
    setTimeout(() => {
      if (location.hash === place) then();
    }, ms);
  }
}

/**
 * A button that runs an action and reports its result.
 *
 * `ask` is a confirmation for `confirm`. Without `run` the action is a POST to `path`. `then` reads the page again, at once
 * and at the times of `FOLLOW_MS`. `said` is the message of a success, or a function of the response.
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

/** An error message in place of content. */
export const failure = (error) =>
  h("p", { class: "failure bad", role: "alert" }, error.message);
