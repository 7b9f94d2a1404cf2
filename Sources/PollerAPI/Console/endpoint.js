// The page of one endpoint: health, deliveries and actions.

import { api, at, collect, endpointLink, may, maybe, post } from "./api.js";
import { copyButton, dialog, labelled, select, showOnce, toast } from "./dialogs.js";
import { deliveryTable, learn, states } from "./deliveries.js";
import { health, lastErrors, note, scope } from "./endpoints.js";
import { h, pause } from "./dom.js";
import { act, age, badge, card, facts, head, id, pager, tabs } from "./parts.js";
import { count, counted, limit, moment, place } from "./words.js";

const REPLAY_POLL_MS = 500;

const path = (endpoint, part) => `v1/endpoints/${encodeURIComponent(endpoint.id)}${part ? `/${part}` : ""}`;

async function rotate(endpoint, refresh) {
  const made = await dialog({
    title: "Rotate the signing secret?", submit: "Rotate secret", danger: true,
    body: [h("p", null, "Events are signed with a new secret at once, and also with the old one for the time you choose, so that the "
      + "receiver can switch."), labelled("Keep the old secret for", h("input", { name: "overlap", value: "24h" }), "0s: remove it now.")],
    done: (form) => post(path(endpoint, "rotate"), { overlap: form.elements.overlap.value.trim() }),
  });
  if (!made) return;
  if (made.secret) await showOnce({ title: "New secret", secret: made.secret, text: "Copy the secret now. It is not shown again." });
  refresh();
}

async function test(endpoint, refresh) {
  const result = await post(path(endpoint, "test"));
  const took = result.duration_ms === null ? "" : ` in ${result.duration_ms} ms`;
  toast(result.delivered ? `The test event was accepted${took}.`
    : `The test event was not accepted: ${result.reason ?? result.class}${took}.${result.excerpt ? ` Response: ${result.excerpt.slice(0, 200)}` : ""}`, !result.delivered);
  refresh();
}

async function finished(endpoint, report) {
  for (;;) {
    const job = await api(path(endpoint, "replay"));
    report(job);
    if (job.state === "failed") throw new Error(job.error ?? "The replay failed.");
    if (job.state === "finished") return job;
    await pause(REPLAY_POLL_MS);
  }
}

async function replay(endpoint, refresh) {
  const request = await dialog({
    title: "Replay events", submit: "Count",
    body: [
      labelled("Events", select("status", [["dead", "Dead letters"], ["all", "All events since a time"]])),
      labelled("Since", h("input", { name: "since", type: "datetime-local" }), "Required for all events. In your time zone."),
      labelled("Deliveries per second", h("input", { name: "rate", type: "number", min: 1, max: 10000, value: "100" })),
    ],
    done: async (form) => {
      const since = form.elements.since.value;
      const body = { status: form.elements.status.value, rate: Number(form.elements.rate.value) };
      if (since) body.since = new Date(since).toISOString();
      if (body.status === "all" && !since) throw new Error("Enter a start time in Since.");
      await post(path(endpoint, "replay"), { ...body, dry_run: true });
      return { body, job: await finished(endpoint, () => {}) };
    },
  });
  if (!request) return;
  if (request.job.matched === 0) {
    toast(`No events to replay in ${counted(request.job.looked_at, "delivery", "deliveries")}.`);
    return;
  }
  const bar = h("progress", { max: request.job.matched, "aria-label": "Progress", hidden: true });
  const done = await dialog({
    title: "Replay these events?", submit: `Replay ${counted(request.job.events, "event", "events")}`,
    body: [h("p", { id: "dry-run" }, `${counted(request.job.events, "event", "events")} of ${counted(request.job.matched, "payment", "payments")} will be sent to `,
      h("strong", null, endpoint.name ?? place(endpoint.url)), " again with the same event IDs, so that receivers can ignore duplicates."), bar],
    done: async () => {
      bar.hidden = false;
      await post(path(endpoint, "replay"), request.body);
      return finished(endpoint, (job) => { bar.value = job.matched; });
    },
  });
  if (done) toast(`${counted(done.events, "event", "events")} scheduled for replay${done.busy ? `; ${count(done.busy)} deliveries were busy` : ""}.`);
  refresh();
}

async function edit(endpoint, refresh) {
  const changed = await dialog({
    title: "Edit endpoint", submit: "Save",
    body: [
      labelled("URL", h("input", { name: "url", value: endpoint.url, required: true, maxlength: 2000 })),
      labelled("Name", h("input", { name: "name", value: endpoint.name ?? "", maxlength: 64 }), "Shown instead of the URL."),
      labelled("Types", h("input", { name: "types", value: endpoint.types.join(", ") }), "Event types. Empty: all."),
      labelled("Retries", select("retry", [["", "Unchanged"], ["default", "default"], ["fast", "fast"], ["none", "none"]], "")),
    ],
    done: (form) => api(path(endpoint), {
      method: "PATCH", body: {
        url: form.elements.url.value.trim(), name: form.elements.name.value.trim() || null,
        types: form.elements.types.value.split(/[\s,]+/).filter(Boolean),
        ...(form.elements.retry.value ? { retry: form.elements.retry.value } : {}),
      },
    }),
  });
  if (changed) refresh();
}

function tools(endpoint, refresh) {
  if (!may("endpoints:write")) {
    return may("deliveries:replay") && h("button", { type: "button", "data-key": "replay", onclick: () => replay(endpoint, refresh) }, "Replay …");
  }
  const isOff = endpoint.state === "disabled";
  const name = endpoint.name ?? place(endpoint.url);
  return [
    act("Test", { run: () => test(endpoint, refresh), key: "test" }),
    may("deliveries:replay") && h("button", { type: "button", "data-key": "replay", onclick: () => replay(endpoint, refresh) }, "Replay …"),
    h("button", { type: "button", "data-key": "edit", onclick: () => edit(endpoint, refresh) }, "Edit …"),
    may("secrets:read") && !endpoint.url.startsWith("mailto:") &&
      h("button", { type: "button", "data-key": "rotate", onclick: () => rotate(endpoint, refresh) }, "Rotate secret …"),
    isOff ? act("Enable", { path: path(endpoint, "enable"), then: refresh, said: "Endpoint enabled. Pending events are sent now.", key: "onoff" })
      : act("Disable", {
        path: path(endpoint, "disable"), then: refresh, danger: true, said: "Endpoint disabled.", key: "onoff",
        ask: { title: `Disable ${name}?`, submit: "Disable endpoint", text: "It receives no events until you enable it. Pending events wait until they expire." },
      }),
    act("Remove", {
      path: path(endpoint), method: "DELETE", danger: true, key: "remove", said: "Endpoint removed.",
      then: () => { location.hash = "/endpoints"; },
      ask: { title: `Remove ${name}?`, submit: "Remove endpoint", word: "remove", text: "Its deliveries are deleted. Pending events are not sent." },
    }),
  ];
}

function about(endpoint) {
  const state = endpoint.health;
  const retry = Array.isArray(endpoint.retry) ? endpoint.retry.join(", ") : endpoint.retry;
  return facts([
    ["URL", [id(endpoint.url), copyButton(endpoint.url)]], ["ID", [id(endpoint.id), copyButton(endpoint.id)]], ["Account", endpoint.account],
    ["Events", scope(endpoint)], ["Retries", retry], ["Limit", endpoint.limit && limit(endpoint.limit)],
    ["Payload", endpoint.payload], ["Headers", Object.keys(endpoint.headers).join(", ")],
    ["Fallback", endpoint.notify_by && [`after ${endpoint.notify_by.within}: `,
      h("a", { href: endpointLink(endpoint.notify_by.endpoint) }, endpoint.notify_by.endpoint)]],
    ["Dead letters", state?.dead > 0 && counted(state.dead, "delivery", "deliveries")], ["Last error", state?.last_error],
    ["Pending", state && count(state.waiting)], ["Consecutive failures", state && count(state.failures)],
    ["Failing since", state?.failing_since && moment(state.failing_since)],
    ["Will be disabled on", state?.disabled_at_the_latest && moment(state.disabled_at_the_latest)],
    ["Signing secrets", endpoint.secrets.map((one, index) => h("span", { class: "line" },
      index === 0 ? "current" : "previous", one.expires_at ? [", expires ", age(one.expires_at)] : ""))],
    ["Created", moment(endpoint.created_at)],
  ]);
}

/** The page of one endpoint; for a payment's notify URL it only has the deliveries. */
export async function endpointPage({ id: name, query, refresh, stop }) {
  const state = query.get("state") ?? "";
  const cursor = query.get("cursor");
  const link = (which, next) => at(endpointLink(name), { state: which, cursor: next });
  const [endpoint, page] = await Promise.all([
    maybe(`v1/endpoints/${encodeURIComponent(name)}`),
    may("deliveries:read") ? collect("v1/deliveries", { endpoint: name, state, cursor, limit: 50 }, { stop }) : null,
  ]);
  if (page) await learn(page.data);
  const error = page?.data.find((row) => row.state === "failing" && row.last_error)?.last_error
    ?? (endpoint ? (await lastErrors([endpoint])).get(endpoint.id) ?? endpoint.health?.last_error : null);
  const url = endpoint?.url ?? page?.data[0]?.url;
  if (!url && !page?.data.length && !state) {
    return [head("Endpoint", { back: ["#/endpoints", "Endpoints"] }), h("p", { class: "failure" }, "No endpoint ", id(name), " found. It may have been removed.")];
  }
  const list = page && card("Deliveries",
    h("div", { class: "bar" }, tabs("Which", states.map(([value, text]) => [value, text, link(value)]), state)),
    deliveryTable(page.data, { refresh, isOne: true }), pager({ ...page, cursor, href: (next) => link(state, next) }));
  if (!endpoint) {
    return [head(place(url ?? name), { back: ["#/endpoints", "Endpoints"], note: "A notify URL of payments, not a registered endpoint." }), list];
  }
  return [
    head(endpoint.name ?? place(endpoint.url), { back: ["#/endpoints", "Endpoints"], tools: tools(endpoint, refresh) }),
    h("section", { class: "outcome", "aria-label": "Health" }, health(endpoint, error),
      h("p", { class: "grow" }, note(endpoint, error) || (endpoint.health?.dead > 0 || page?.data.some((row) => row.dead_seqs.length)
        ? "Delivering, but some events are dead letters. Use Replay to send them again." : "Delivering.")), endpoint.origin === "file" && badge("From the configuration file", "quiet")),
    h("div", { class: "columns" }, h("div", null, list), h("div", { class: "aside" }, card("Details", about(endpoint)))),
  ];
}
