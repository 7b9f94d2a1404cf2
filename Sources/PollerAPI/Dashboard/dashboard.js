"use strict";
// Shows the cluster: counts every two seconds, changes as they are recorded. What comes from the
// server is only ever set as text, never as markup.

const REFRESH_MS = 2000;
const RETRY_MS = 3000;
// Rows of each list: a page to look at, no archive.
const LANES_MAX = 15, QUARANTINE_MAX = 20, CHANGES_MAX = 60;

const find = (selector) => document.querySelector(selector);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Makes an element with text and classes, and with children when there are any. */
function make(name, text, classes, children = []) {
  const element = document.createElement(name);
  if (text !== undefined && text !== null) element.textContent = text;
  if (classes) element.className = classes;
  element.append(...children);
  return element;
}

// The key: asked for once, kept for this tab.

let asking = null;

/** Asks for a key and waits until one is given; all who need one share the question. */
function askForKey(isWrong) {
  asking ??= new Promise((answered) => {
    find("#key-wrong").hidden = !isWrong;
    find("#key-form").onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem("poller.key", find("#key").value.trim());
      find("#key").value = "";
      asking = null;
      find("#ask").close();
      answered();
    };
    find("#ask").showModal();
  });
  return asking;
}

// Without a key nothing can be shown, so the question cannot be put away.
find("#ask").addEventListener("close", () => { if (asking) find("#ask").showModal(); });

/** Sends a request and gives the answer's JSON; what the server says of a failure is thrown. */
async function api(path, method = "GET") {
  for (;;) {
    const key = sessionStorage.getItem("poller.key");
    const answer = await fetch(path, {
      method,
      headers: key ? { Authorization: `Bearer ${key}` } : {},
      signal: AbortSignal.timeout(60000),
    });
    if (answer.status === 401) {
      // Another request may have got a better key meanwhile.
      if (key === sessionStorage.getItem("poller.key")) await askForKey(Boolean(key));
      continue;
    }
    const body = await answer.json();
    if (!answer.ok) throw new Error(`${body.title} ${body.detail}`);
    return body;
  }
}

// How things are written.

const number = new Intl.NumberFormat("en");

function span(ms) {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 120000) return `${Math.round(ms / 1000)} s`;
  if (ms < 7200000) return `${Math.round(ms / 60000)} min`;
  return ms < 172800000 ? `${Math.round(ms / 3600000)} h` : `${Math.round(ms / 86400000)} d`;
}

/** `1 lane is paused`, `2 lanes are paused`. */
const count = (n, one, many, said) => `${number.format(n)} ${n === 1 ? one : many} ${said}`;

const time = (text) => new Date(text).toLocaleTimeString("en-GB");
const lanePath = (id) => `/v1/lanes/${encodeURIComponent(id)}`;

function limitText(limit) {
  const rate = limit.rate === 0 ? "no rate" : `${number.format(limit.rate)}/s + ${limit.burst}`;
  const inFlight = limit.concurrency >= 1000000 ? "" : `, ${number.format(limit.concurrency)} at once`;
  return rate + inFlight;
}

const statusColours = {
  chargeable: "good", consumed: "good", succeeded: "good", requires_capture: "good",
  failed: "bad", canceled: "bad", dead: "bad",
};
const paymentColours = {
  paid: "good", failed: "bad", reversed: "bad", expired: "bad", cancelled: "bad",
  disputed: "careful", partially_paid: "careful", refunded: "careful", partially_refunded: "careful",
};

// The counts and tables.

function showVerdict(stats) {
  const oldest = stats.oldest_overdue_ms;
  const worries = [
    stats.workers === 0 && "no worker is alive",
    stats.lanes.open > 0 && count(stats.lanes.open, "lane gets", "lanes get", "no answer from the upstream"),
    oldest > 15000 && `the oldest watch is ${span(oldest)} late`,
    stats.lanes.paused > 0 && count(stats.lanes.paused, "lane is", "lanes are", "paused"),
    stats.quarantined > 0 && count(stats.quarantined, "watch is", "watches are", "in quarantine"),
    stats.watches.undelivered > 0 && stats.notifiers === 0 && "no notifier is alive",
  ].filter(Boolean);
  const verdict = find("#verdict");
  verdict.textContent = worries.length ? worries.join(" · ") : "All is well.";
  verdict.className = worries.length ? "careful" : "good";
}

function showTiles(stats) {
  const { watches, lanes, oldest_overdue_ms: oldest } = stats;
  const stopped = lanes.paused + lanes.open + lanes.held + lanes.probing;
  const tiles = [
    ["Waiting", number.format(watches.pending)],
    ["Overdue", number.format(watches.overdue)],
    ["Oldest overdue", oldest ? span(oldest) : "–", oldest > 60000 ? "bad" : oldest > 15000 ? "careful" : ""],
    ["Being polled", number.format(watches.leased)],
    ["Lanes stopped", `${stopped} of ${number.format(lanes.total)}`, stopped ? "careful" : ""],
    ["Quarantine", number.format(stats.quarantined), stats.quarantined ? "careful" : ""],
    ["To deliver", number.format(watches.undelivered + stats.deliveries.pending)],
    ["Workers", stats.workers, stats.workers ? "" : "bad"],
  ];
  find("#tiles").replaceChildren(
    ...tiles.map(([name, value, colour]) =>
      make("dl", null, "tile", [make("dd", value, colour), make("dt", name)])),
  );
}

/** Fills a table, or says that there is nothing. A row under the pointer keeps its button. */
function fill(id, rows, nothing) {
  const body = find(`#${id} tbody`);
  if (rows.length === 0) {
    const cell = make("td", nothing, "empty");
    cell.colSpan = find(`#${id} thead tr`).children.length;
    rows = [make("tr", null, "", [cell])];
  }
  if (!body.querySelector("button:active")) body.replaceChildren(...rows);
}

/** A button that sends a request and shows what came of it. */
function action(label, path) {
  const button = make("button", label);
  button.type = "button";
  button.onclick = async () => {
    button.disabled = true;
    try {
      await api(path, "POST");
      await refresh();
    } catch (error) {
      find("#verdict").textContent = error.message;
      find("#verdict").className = "bad";
    }
  };
  return button;
}

const laneColours = { paused: "careful", open: "bad", probing: "careful", held: "careful", slowed: "careful", flowing: "good" };

function laneRow(lane) {
  const until = lane.held_until ? ` until ${time(lane.held_until)}` : "";
  const factor = lane.factor < 1 ? ` at ${Math.round(lane.factor * 100)} %` : "";
  const late = lane.overdue ? ` (${span(lane.overdue_ms)})` : "";
  const isStopped = !["flowing", "slowed"].includes(lane.state);
  return make("tr", null, "", [
    make("td", lane.id, "id"),
    make("td", lane.state + until + factor, `state ${laneColours[lane.state] ?? ""}`),
    make("td", number.format(lane.overdue) + late, "n"),
    make("td", number.format(lane.waiting), "n"),
    make("td", number.format(lane.in_flight), "n"),
    make("td", limitText(lane.limit), "soft"),
    make("td", null, "n", [
      action(isStopped ? "Resume" : "Pause", `${lanePath(lane.id)}/${isStopped ? "resume" : "pause"}`),
    ]),
  ]);
}

function quarantineRow(watch) {
  const query = new URLSearchParams({ account: watch.account, kind: watch.kind });
  return make("tr", null, "", [
    make("td", watch.source, "id"),
    make("td", watch.account),
    make("td", watch.last_error ?? "its polls took the worker down", "soft why"),
    make("td", number.format(watch.attempts), "n"),
    make("td", null, "n", [
      action("Redrive", `/v1/quarantine/${encodeURIComponent(watch.source)}/redrive?${query}`),
    ]),
  ]);
}

function workerRow(worker) {
  return make("tr", null, "", [
    make("td", `${worker.host} (${worker.pid})`),
    make("td", worker.roles.join(", "), "soft"),
    make("td", number.format(worker.in_flight), "n"),
    make("td", new Date(worker.started_at).toLocaleString("en-GB"), "soft"),
  ]);
}

async function refresh() {
  const [stats, lanes, quarantine, workers] = await Promise.all([
    api("/v1/stats"), api(`/v1/lanes?limit=${LANES_MAX}`),
    api(`/v1/quarantine?limit=${QUARANTINE_MAX}`), api("/v1/workers"),
  ]);
  showVerdict(stats);
  showTiles(stats);
  fill("lanes", lanes.data.map(laneRow), "No lane holds anything.");
  find("#quarantine-section").hidden = quarantine.data.length === 0;
  fill("quarantine", quarantine.data.map(quarantineRow), "");
  fill("workers", workers.data.map(workerRow), "No process is alive but this server.");
}

// Changes as they are recorded.

/** What has changed: the money, what the customer must do, or the status; and how bad that is. */
function change(event) {
  if (event.type.startsWith("payment.")) {
    const state = event.payment?.state ?? "?";
    return [state.replaceAll("_", " "), paymentColours[state] ?? ""];
  }
  if (event.type === "next_step.changed") {
    return [`to do: ${(event.next_step?.type ?? "nothing").replaceAll("_", " ")}`, ""];
  }
  const status = event.type.startsWith("watch.") ? event.closed_reason : event.status;
  return [`${event.previous_status ?? "new"} → ${status ?? "?"}`, statusColours[status] ?? ""];
}

function showChange(event, isNew) {
  const [text, colour] = change(event);
  const row = make("li", null, isNew ? "new" : "", [
    make("span", time(event.observed.polled_at), "soft"),
    make("span", event.source, "id"),
    make("span", text, colour),
  ]);
  row.title = `${event.type}, seq ${event.seq}, account ${event.account}`;
  find("#changes").prepend(row);
  while (find("#changes").children.length > CHANGES_MAX) find("#changes").lastChild.remove();
}

/** The last ten minutes first, then long polls; when too much comes, the newest is shown. */
async function followChanges() {
  let place = `from=${new Date(Date.now() - 600000).toISOString()}`;
  let isNew = false;
  for (;;) {
    try {
      const page = await api(`/v1/events?${place}&limit=500${isNew ? "&wait=30s" : ""}`);
      for (const event of page.data.slice(-CHANGES_MAX)) showChange(event, isNew);
      place = page.has_more ? "from=now" : `cursor=${encodeURIComponent(page.next)}`;
      isNew = true;
      find("#live").textContent = "live";
      if (find("#changes").children.length === 0) find("#live").textContent = "none yet";
      // A busy cluster is looked at once a second.
      if (page.data.length) await pause(1000);
    } catch {
      find("#live").textContent = "interrupted";
      await pause(RETRY_MS);
    }
    await visible();
  }
}

/** Resolves when somebody looks at the page: a hidden tab asks the server nothing. */
function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((seen) =>
    document.addEventListener("visibilitychange", () => seen(), { once: true }));
}

async function followCounts() {
  for (;;) {
    try {
      await refresh();
    } catch (error) {
      const isSilent = error instanceof TypeError || error.name === "TimeoutError";
      find("#verdict").textContent = isSilent ? "The server does not answer." : error.message;
      find("#verdict").className = "bad";
    }
    await pause(REFRESH_MS);
    await visible();
  }
}

// Why one watch waits.

find("#lookup").onsubmit = async (event) => {
  event.preventDefault();
  const source = find("#source").value.trim();
  if (!source) return;
  const box = find("#explanation");
  box.hidden = false;
  try {
    const told = await api(`/v1/watches/${encodeURIComponent(source)}/explain`);
    const at = told.earliest_poll_at ? ` – next poll ${time(told.earliest_poll_at)} at the earliest` : "";
    box.querySelector("h2").textContent = source + at;
    box.querySelector("ul").replaceChildren(...told.reasons.map((reason) => make("li", reason)));
  } catch (error) {
    box.querySelector("h2").textContent = source;
    box.querySelector("ul").replaceChildren(make("li", error.message, "bad"));
  }
};
find("#explanation-close").onclick = () => { find("#explanation").hidden = true; };

followCounts();
followChanges();
