// Who is told: every endpoint with how it stands, and new ones.

import { accounts, api, at, collect, endpointLink, may, post } from "./api.js";
import { dialog, labelled, showOnce } from "./dialogs.js";
import { h } from "./dom.js";
import { age, badge, head, pager, table } from "./parts.js";
import { ago, count, moment, place } from "./words.js";

/** How a receiver fails, of what its last attempt came to and met; nothing where neither is known. */
function failing(error, failure) {
  if (failure === "silent") return ": no answer";
  const status = /answered (\d)\d\d/.exec(error ?? "")?.[1];
  if (status === "4") return ": refuses";
  return status || failure ? ": fails" : error ? ": no answer" : "";
}

/** Endpoints that are held and asked about: few are at a time. */
const HELD_MAX = 10;

/** Why those do not take what they are sent that are held, by their ids. */
export async function lastErrors(endpoints) {
  if (!may("deliveries:read")) return new Map();
  const held = endpoints.filter((one) => one.state !== "disabled" && one.health && one.health.circuit !== "closed");
  return new Map(await Promise.all(held.slice(0, HELD_MAX).map(async ({ id }) => {
    const { data } = await collect("v1/deliveries", { endpoint: id, state: "failing", limit: 1 }, { want: 1, rounds: 5 });
    return [id, data[0]?.last_error];
  })));
}

/** How an endpoint stands, in a word; `error` is what its last attempt came to. */
export function health(endpoint, error) {
  if (endpoint.state === "disabled") return badge("Disabled", "bad", endpoint.disabled_reason);
  const told = endpoint.health;
  if (told?.circuit === "open") return badge(`Held${failing(error, told.failure)}`, "bad", error);
  if (told?.circuit === "probing") return badge("Probing", "careful");
  if (told?.paused) return badge("Paused", "careful");
  if (told?.failing_since) return badge("Failing", "careful", `since ${moment(told.failing_since)}`);
  return badge("Enabled", "good");
}

/** More about it, in a few words; `error` is what its last attempt came to. */
export function note(endpoint, error) {
  if (endpoint.state === "disabled") return `${endpoint.disabled_reason ?? ""}${endpoint.disabled_at ? `, ${ago(endpoint.disabled_at)}` : ""}`;
  const told = endpoint.health;
  if (told?.held_until && new Date(told.held_until) > Date.now()) return [error && `${error}; `, "tried again ", age(told.held_until)];
  if (told?.failing_since) return [error && `${error}; `, `${count(told.failures)} in a row, since `, age(told.failing_since)];
  return "";
}

/** The time since which an enabled endpoint fails; empty for one that accepts events, and for a disabled one. */
export function since(endpoint) {
  const from = endpoint.state === "disabled" ? null : endpoint.health?.failing_since;
  return from ? age(from) : "";
}

/** The time since which an endpoint is disabled or fails, next to its state. */
const inStateSince = (endpoint) => endpoint.state === "disabled" && endpoint.disabled_at
  ? age(endpoint.disabled_at) : since(endpoint);

/** What an endpoint is told of. */
export const scope = (endpoint) => [
  endpoint.types.length ? endpoint.types.join(", ") : "everything",
  endpoint.sources?.length && `${endpoint.sources.length} sources`, endpoint.final_only && "the end only",
].filter(Boolean).join("; ");

const split = (text) => text.split(/[\s,]+/).filter(Boolean);

async function add(refresh) {
  const bound = accounts();
  const made = await dialog({
    title: "New endpoint", submit: "Register it",
    body: [
      labelled("URL", h("input", { name: "url", required: true, maxlength: 2000, placeholder: "https://shop.example.com/hook" }),
        "https://…, mailto:… or redis+stream:NAME"),
      labelled("Name", h("input", { name: "name", maxlength: 64, placeholder: "Warehouse" }), "What people call it."),
      labelled("Types", h("input", { name: "types", placeholder: "payment.*" }), "Which events; all when empty."),
      labelled("Account", h("input", { name: "account", placeholder: bound?.[0] ?? "default" })),
    ],
    done: (form) => post("v1/endpoints", {
      url: form.elements.url.value.trim(), types: split(form.elements.types.value),
      ...(form.elements.name.value.trim() ? { name: form.elements.name.value.trim() } : {}),
      ...(form.elements.account.value.trim() ? { account: form.elements.account.value.trim() } : {}),
    }),
  });
  if (!made) return;
  if (made.secret) {
    await showOnce({
      title: "The signing secret", secret: made.secret,
      text: "The receiver checks signatures with it. It is shown only now; rotate makes another.",
    });
  }
  refresh();
}

/** The list of endpoints. */
export async function endpointsPage({ query, refresh }) {
  const cursor = query.get("cursor");
  const page = await api(at("v1/endpoints", { limit: 50, cursor }));
  const errors = await lastErrors(page.data);
  return [
    head("Endpoints", {
      note: "Who is told what happens. A receiver that takes nothing is probed by itself; its events wait.",
      tools: may("endpoints:write") && h("button", { type: "button", class: "primary", "data-key": "add", onclick: () => add(refresh) }, "New endpoint"),
    }),
    table("Endpoints", [
      { name: "Receiver", why: true, cell: (one) => [one.name && h("strong", null, one.name, " "), place(one.url),
        h("span", { class: "soft narrow" }, one.account)] },
      { name: "State", cell: (one) => [health(one, errors.get(one.id)),
        h("span", { class: "soft narrow" }, inStateSince(one))] },
      { name: "Failing since", wide: true, cell: (one) => since(one) || h("span", { class: "soft" }, "–") },
      { name: "Now", wide: true, why: true, cell: (one) => h("span", { class: "soft" }, note(one, errors.get(one.id))) },
      { name: "Waits", n: true, wide: true, cell: (one) => count(one.health?.waiting) },
      { name: "Told of", wide: true, why: true, cell: (one) => h("span", { class: "soft" }, scope(one)) },
      { name: "Account", wide: true, cell: (one) => h("span", { class: "soft" }, one.account) },
    ], page.data, { link: (one) => endpointLink(one.id), nothing: "Nobody is registered. A payment's own notify URLs are told all the same." }),
    pager({ ...page, next: page.has_more ? page.next : null, cursor, href: (next) => next ? `#/endpoints?cursor=${encodeURIComponent(next)}` : "#/endpoints" }),
  ];
}
