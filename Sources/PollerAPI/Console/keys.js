// API keys: list, create, revoke.

import { api, hasKey, post } from "./api.js";
import { dialog, labelled, select, showOnce } from "./dialogs.js";
import { h } from "./dom.js";
import { act, age, badge, head, id, table } from "./parts.js";

const SOON_MS = 7 * 864e5;

const roles = [
  ["viewer", "viewer: reads everything, changes nothing"], ["support", "support: polls payments, retries deliveries"],
  ["operator", "operator: also manages watches, endpoints and lanes"], ["admin", "admin: also charges, reads secrets and manages keys"],
];

async function make(refresh) {
  const made = await dialog({
    title: "New key", submit: "Create key",
    body: [
      labelled("Name", h("input", { name: "name", maxlength: 64, placeholder: "support desk" })),
      labelled("Role", select("role", roles, "viewer")),
      labelled("Accounts", h("input", { name: "accounts", placeholder: "all" }), "The key has access to these accounts only. Empty: all accounts."),
      labelled("Expires after", h("input", { name: "expires", placeholder: "never" }), "For example 90d or 12h. Empty: never."),
    ],
    done: (form) => {
      const { name, role, accounts, expires } = form.elements;
      const bound = accounts.value.split(/[\s,]+/).filter(Boolean);
      return post("v1/keys", {
        role: role.value, ...(name.value.trim() ? { name: name.value.trim() } : {}),
        ...(bound.length ? { accounts: bound } : {}), ...(expires.value.trim() ? { expires_in: expires.value.trim() } : {}),
      });
    },
  });
  if (!made) return;
  await showOnce({ title: "New key", secret: made.key, text: "Copy the key now. Only its hash is stored, so it cannot be shown again. It works on all servers within a second." });
  refresh();
}

function end(key) {
  if (!key.expires_at) return h("span", { class: "soft" }, "never");
  const left = new Date(key.expires_at) - Date.now();
  if (left < 0) return badge("expired", "quiet");
  return left < SOON_MS ? h("span", { class: "careful" }, age(key.expires_at)) : age(key.expires_at);
}

/** The list of keys. */
export async function keysPage({ refresh }) {
  const page = await api("v1/keys");
  return [
    head("API keys", {
      note: "API keys with their roles and accounts. Keys in the server's key file are not listed.",
      tools: h("button", { type: "button", class: "primary", "data-key": "new", onclick: () => make(refresh) }, "New key"),
    }),
    table("API keys", [
      { name: "Name", cell: (key) => key.name ?? id(key.id) },
      { name: "Role", cell: (key) => [key.role, key.allow?.length ? h("span", { class: "soft" }, ` + ${key.allow.join(", ")}`) : ""] },
      { name: "Accounts", wide: true, cell: (key) => key.accounts?.join(", ") ?? h("span", { class: "soft" }, "all") },
      { name: "Last used", wide: true, cell: (key) => age(key.last_used_at, "never") },
      { name: "Expires", said: true, cell: end },
      { name: "Created by", wide: true, cell: (key) => h("span", { class: "soft" }, key.created_by ?? "") },
      { name: "", act: true, cell: (key) => act("Revoke", {
        path: `v1/keys/${encodeURIComponent(key.id)}`, method: "DELETE", small: true, danger: true, then: refresh,
        said: "Key revoked.", key: `revoke ${key.id}`,
        ask: { title: `Revoke ${key.name ?? key.id}?`, submit: "Revoke key", text: "All servers reject the key within a second, and its open connections are closed." },
      }) },
    ], page.data, {
      nothing: hasKey() ? "Keys created here or with pollerctl key create appear here. Keys in the server's key file are not listed."
        : "No keys yet. Without keys this server accepts requests from this machine only.",
    }),
  ];
}
