// The list of endpoints with their health, and the form for a new one.

import { accounts, api, at, collect, endpointLink, may, post } from "./api.js";
import { dialog, labelled, showOnce } from "./dialogs.js";
import { h } from "./dom.js";
import { age, badge, head, pager, table } from "./parts.js";
import { ago, count, moment, place, upper } from "./words.js";

/** The kind of failure, from the last error and the failure class; empty when both are unknown. */
function failing(error, failure) {
  if (failure === "silent") return ": no answer";
  const status = /answered (\d)\d\d/.exec(error ?? "")?.[1];
  if (status === "4") return ": rejects events";
  return status || failure ? ": errors" : error ? ": no answer" : "";
}

/** The most unavailable endpoints whose last error is read. */
const HELD_MAX = 10;

/** The last errors of unavailable endpoints, by ID. */
export async function lastErrors(endpoints) {
  if (!may("deliveries:read")) return new Map();
  const held = endpoints.filter((one) => one.state !== "disabled" && one.health && one.health.circuit !== "closed");
  const errors = new Map();
  // The server reads one such list of a key at a time, and rejects a key with too many waiting ones.
  for (const { id } of held.slice(0, HELD_MAX)) {
    const { data } = await collect("v1/deliveries", { endpoint: id, state: "failing", limit: 1 }, { want: 1, rounds: 5 });
    errors.set(id, data[0]?.last_error);
  }
  return errors;
}

/** The state of an endpoint; `error` is the error of its last attempt. */
export function health(endpoint, error) {
  if (endpoint.state === "disabled") return badge("Disabled", "bad", endpoint.disabled_reason);
  const state = endpoint.health;
  if (state?.circuit === "open") return badge(`Unavailable${failing(error, state.failure)}`, "bad", error);
  if (state?.circuit === "probing") return badge("Probing", "careful");
  if (state?.paused) return badge("Paused", "careful");
  if (state?.failing_since) return badge("Failing", "careful", `since ${moment(state.failing_since)}`);
  return badge("Enabled", "good");
}

/** Details of the state; `error` is the error of the last attempt. */
export function note(endpoint, error) {
  if (endpoint.state === "disabled") return [upper(endpoint.disabled_reason ?? ""), endpoint.disabled_at && ago(endpoint.disabled_at)].filter(Boolean).join(", ");
  const state = endpoint.health;
  if (state?.held_until && new Date(state.held_until) > Date.now()) return [error ? `${upper(error)}; retried ` : "Retried ", age(state.held_until)];
  if (state?.failing_since) return [error && `${upper(error)}; `, `${count(state.failures)} consecutive failures, the first `, age(state.failing_since)];
  return "";
}

/** Since when an enabled endpoint fails; empty otherwise. */
export function since(endpoint) {
  const from = endpoint.state === "disabled" ? null : endpoint.health?.failing_since;
  return from ? age(from) : "";
}

/** Since when an endpoint is disabled or fails. */
const inStateSince = (endpoint) => endpoint.state === "disabled" && endpoint.disabled_at
  ? age(endpoint.disabled_at) : since(endpoint);

/** The events that an endpoint receives. */
export const scope = (endpoint) => [
  endpoint.types.length ? endpoint.types.join(", ") : "all events",
  endpoint.sources?.length && `${endpoint.sources.length} sources`, endpoint.final_only && "final events only",
].filter(Boolean).join("; ");

const split = (text) => text.split(/[\s,]+/).filter(Boolean);

async function add(refresh) {
  const bound = accounts();
  const made = await dialog({
    title: "New endpoint", submit: "Add endpoint",
    body: [
      labelled("URL", h("input", { name: "url", required: true, maxlength: 2000, placeholder: "https://shop.example.com/hook" }),
        "https://…, mailto:… or redis+stream:NAME"),
      labelled("Name", h("input", { name: "name", maxlength: 64, placeholder: "Warehouse" }), "Shown instead of the URL."),
      labelled("Types", h("input", { name: "types", placeholder: "payment.*" }), "Event types. Empty: all."),
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
      title: "Signing secret", secret: made.secret,
      text: "Use it to verify the signatures of events. Copy it now: it is not shown again. Rotate it to get a new one.",
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
      note: "Recipients of events. Unavailable endpoints are probed automatically, and their events wait.",
      tools: may("endpoints:write") && h("button", { type: "button", class: "primary", "data-key": "add", onclick: () => add(refresh) }, "New endpoint"),
    }),
    table("Endpoints", [
      { name: "Endpoint", why: true, cell: (one) => [one.name && h("strong", null, one.name), one.name ? h("span", { class: "soft line" }, place(one.url)) : place(one.url),
        h("span", { class: "soft narrow" }, one.account)] },
      { name: "State", cell: (one) => [health(one, errors.get(one.id)),
        h("span", { class: "soft narrow" }, inStateSince(one))] },
      { name: "Failing since", wide: true, cell: (one) => since(one) || h("span", { class: "soft" }, "–") },
      { name: "Details", wide: true, why: true, cell: (one) => h("span", { class: "soft" }, note(one, errors.get(one.id))) },
      { name: "Pending", n: true, wide: true, cell: (one) => count(one.health?.waiting) },
      { name: "Events", wide: true, why: true, cell: (one) => h("span", { class: "soft" }, scope(one)) },
      { name: "Account", wide: true, cell: (one) => h("span", { class: "soft" }, one.account) },
    ], page.data, { link: (one) => endpointLink(one.id), nothing: "Endpoints appear here. Add one with New endpoint. Notify URLs of payments need no endpoint." }),
    pager({ ...page, next: page.has_more ? page.next : null, cursor, href: (next) => next ? `#/endpoints?cursor=${encodeURIComponent(next)}` : "#/endpoints" }),
  ];
}
