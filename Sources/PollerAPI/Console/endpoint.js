// One endpoint: how it stands, what it was sent, and what to do about it.

import { api, at, collect, endpointLink, may, maybe, post } from "./api.js";
import { copyButton, dialog, labelled, select, showOnce, toast } from "./dialogs.js";
import { deliveryTable, learn, states } from "./deliveries.js";
import { health, lastErrors, note, scope } from "./endpoints.js";
import { h, pause } from "./dom.js";
import { act, age, badge, card, facts, head, id, pager, tabs } from "./parts.js";
import { count, counted, limit, moment, place } from "./words.js";

const REPLAY_LOOK_MS = 500;

const path = (endpoint, part) => `v1/endpoints/${encodeURIComponent(endpoint.id)}${part ? `/${part}` : ""}`;

async function rotate(endpoint, refresh) {
  const made = await dialog({
    title: "Rotate the signing secret?", submit: "Rotate it", danger: true,
    body: [h("p", null, "A new secret signs at once. The old one signs beside it for as long as you say, so that the receiver "
      + "can change."), labelled("Keep the old one for", h("input", { name: "overlap", value: "24h" }), "0s to end it now.")],
    done: (form) => post(path(endpoint, "rotate"), { overlap: form.elements.overlap.value.trim() }),
  });
  if (!made) return;
  if (made.secret) await showOnce({ title: "The new secret", secret: made.secret, text: "It is shown only now." });
  refresh();
}

async function test(endpoint, refresh) {
  const told = await post(path(endpoint, "test"));
  const took = told.duration_ms === null ? "" : ` in ${told.duration_ms} ms`;
  toast(told.delivered ? `The test event was accepted${took}.`
    : `The test event was not accepted: ${told.reason ?? told.class}${took}.${told.excerpt ? ` It said: ${told.excerpt.slice(0, 200)}` : ""}`, !told.delivered);
  refresh();
}

async function finished(endpoint, tell) {
  for (;;) {
    const job = await api(path(endpoint, "replay"));
    tell(job);
    if (job.state === "failed") throw new Error(job.error ?? "The replay failed.");
    if (job.state === "finished") return job;
    await pause(REPLAY_LOOK_MS);
  }
}

async function replay(endpoint, refresh) {
  const wish = await dialog({
    title: "Send events again", submit: "Count them",
    body: [
      labelled("Which", select("status", [["dead", "Those that were given up"], ["all", "Every event since a time"]])),
      labelled("Since", h("input", { name: "since", type: "datetime-local" }), "Needed for every event; times are yours."),
      labelled("Deliveries a second", h("input", { name: "rate", type: "number", min: 1, max: 10000, value: "100" })),
    ],
    done: async (form) => {
      const since = form.elements.since.value;
      const body = { status: form.elements.status.value, rate: Number(form.elements.rate.value) };
      if (since) body.since = new Date(since).toISOString();
      if (body.status === "all" && !since) throw new Error("Say since when.");
      await post(path(endpoint, "replay"), { ...body, dry_run: true });
      return { body, job: await finished(endpoint, () => {}) };
    },
  });
  if (!wish) return;
  if (wish.job.matched === 0) {
    toast(`Nothing to send again: ${counted(wish.job.looked_at, "delivery was", "deliveries were")} looked at.`);
    return;
  }
  const bar = h("progress", { max: wish.job.matched, "aria-label": "Progress", hidden: true });
  const done = await dialog({
    title: "Send them again?", submit: `Send ${counted(wish.job.events, "event", "events")}`,
    body: [h("p", { id: "dry-run" }, `${counted(wish.job.events, "event", "events")} of ${counted(wish.job.matched, "payment", "payments")} go to `,
      h("strong", null, endpoint.name ?? place(endpoint.url)), " again, under the same event ids: a receiver that dedupes takes each once."), bar],
    done: async () => {
      bar.hidden = false;
      await post(path(endpoint, "replay"), wish.body);
      return finished(endpoint, (job) => { bar.value = job.matched; });
    },
  });
  if (done) toast(`${counted(done.events, "event is", "events are")} sent again${done.busy ? `; ${count(done.busy)} deliveries were busy` : ""}.`);
  refresh();
}

async function edit(endpoint, refresh) {
  const changed = await dialog({
    title: "Change the endpoint", submit: "Save",
    body: [
      labelled("URL", h("input", { name: "url", value: endpoint.url, required: true, maxlength: 2000 })),
      labelled("Name", h("input", { name: "name", value: endpoint.name ?? "", maxlength: 64 }), "What people call it."),
      labelled("Types", h("input", { name: "types", value: endpoint.types.join(", ") }), "Which events; all when empty."),
      labelled("Retries", select("retry", [["", "As they are"], ["default", "default"], ["fast", "fast"], ["none", "none"]], "")),
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
    return may("deliveries:replay") && h("button", { type: "button", "data-key": "replay", onclick: () => replay(endpoint, refresh) }, "Send again …");
  }
  const isOff = endpoint.state === "disabled";
  const name = endpoint.name ?? place(endpoint.url);
  return [
    act("Test", { run: () => test(endpoint, refresh), key: "test" }),
    may("deliveries:replay") && h("button", { type: "button", "data-key": "replay", onclick: () => replay(endpoint, refresh) }, "Send again …"),
    h("button", { type: "button", "data-key": "edit", onclick: () => edit(endpoint, refresh) }, "Change …"),
    may("secrets:read") && !endpoint.url.startsWith("mailto:") &&
      h("button", { type: "button", "data-key": "rotate", onclick: () => rotate(endpoint, refresh) }, "Rotate secret …"),
    isOff ? act("Enable", { path: path(endpoint, "enable"), then: refresh, said: "It is told again; what waited is sent now.", key: "onoff" })
      : act("Disable", {
        path: path(endpoint, "disable"), then: refresh, danger: true, said: "It is told nothing.", key: "onoff",
        ask: { title: `Disable ${name}?`, submit: "Disable it", text: "It is told nothing until somebody enables it; its events wait as long as they are kept." },
      }),
    act("Remove", {
      path: path(endpoint), method: "DELETE", danger: true, key: "remove", said: "It is removed.",
      then: () => { location.hash = "/endpoints"; },
      ask: { title: `Remove ${name}?`, submit: "Remove it", word: "remove", text: "Its deliveries end, and what it was not told it will not be told." },
    }),
  ];
}

function about(endpoint) {
  const told = endpoint.health;
  const retry = Array.isArray(endpoint.retry) ? endpoint.retry.join(", ") : endpoint.retry;
  return facts([
    ["URL", [id(endpoint.url), copyButton(endpoint.url)]], ["Id", [id(endpoint.id), copyButton(endpoint.id)]], ["Account", endpoint.account],
    ["Told of", scope(endpoint)], ["Retries", retry], ["Limit", endpoint.limit && limit(endpoint.limit)],
    ["Payload", endpoint.payload], ["Headers", Object.keys(endpoint.headers).join(", ")],
    ["If not in time", endpoint.notify_by && [`within ${endpoint.notify_by.within}, then `,
      h("a", { href: endpointLink(endpoint.notify_by.endpoint) }, endpoint.notify_by.endpoint)]],
    ["Given up", told?.dead > 0 && counted(told.dead, "delivery", "deliveries")], ["Last error", told?.last_error],
    ["Waits", told && count(told.waiting)], ["Failures in a row", told && count(told.failures)],
    ["Failing since", told?.failing_since && moment(told.failing_since)],
    ["Disabled at the latest", told?.disabled_at_the_latest && moment(told.disabled_at_the_latest)],
    ["Signed with", endpoint.secrets.map((one, index) => h("span", { class: "line" },
      index === 0 ? "its secret" : "the one before", one.expires_at ? [", which ends ", age(one.expires_at)] : ""))],
    ["Since", moment(endpoint.created_at)],
  ]);
}

/** The page of one endpoint; of a payment's own URL only its deliveries are known. */
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
    return [head("Endpoint", { back: ["#/endpoints", "Endpoints"] }), h("p", { class: "failure" }, "No endpoint ", id(name), " is known.")];
  }
  const list = page && card("Deliveries",
    h("div", { class: "bar" }, tabs("Which", states.map(([value, text]) => [value, text, link(value)]), state)),
    deliveryTable(page.data, { refresh, isOne: true }), pager({ ...page, cursor, href: (next) => link(state, next) }));
  if (!endpoint) {
    return [head(place(url ?? name), { back: ["#/endpoints", "Endpoints"], note: "A payment's own notify URL; nobody has registered it." }), list];
  }
  return [
    head(endpoint.name ?? place(endpoint.url), { back: ["#/endpoints", "Endpoints"], tools: tools(endpoint, refresh) }),
    h("section", { class: "outcome", "aria-label": "Health" }, health(endpoint, error),
      h("p", { class: "grow" }, note(endpoint, error) || (endpoint.health?.dead > 0 || page?.data.some((row) => row.dead_seqs.length)
        ? "Nothing holds it up, but it was not told everything: some events were given up." : "Nothing holds it up.")), endpoint.origin === "file" && badge("of the configuration file", "quiet")),
    h("div", { class: "columns" }, h("div", null, list), h("div", { class: "aside" }, card("About it", about(endpoint)))),
  ];
}
