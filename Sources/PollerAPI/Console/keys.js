// Who may do what: keys, new ones, and to revoke them.

import { api, hasKey, post } from "./api.js";
import { dialog, labelled, select, showOnce } from "./dialogs.js";
import { h } from "./dom.js";
import { act, age, badge, head, id, table } from "./parts.js";

const SOON_MS = 7 * 864e5;

const roles = [
  ["viewer", "viewer: sees everything, changes nothing"], ["support", "support: looks again, sends again"],
  ["operator", "operator: runs the place"], ["admin", "admin: charges, sees secrets, makes keys"],
];

async function make(refresh) {
  const made = await dialog({
    title: "New key", submit: "Make it",
    body: [
      labelled("Name", h("input", { name: "name", maxlength: 64, placeholder: "support desk" })),
      labelled("Role", select("role", roles, "viewer")),
      labelled("Accounts", h("input", { name: "accounts", placeholder: "all" }), "It sees nothing of others; all when empty."),
      labelled("Ends after", h("input", { name: "expires", placeholder: "never" }), "90d, 12h; never when empty."),
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
  await showOnce({ title: "The new key", secret: made.key, text: "It is shown only now; what is kept opens nothing. It is good everywhere within a second." });
  refresh();
}

function end(key) {
  if (!key.expires_at) return h("span", { class: "soft" }, "never");
  const left = new Date(key.expires_at) - Date.now();
  if (left < 0) return badge("ended", "quiet");
  return left < SOON_MS ? h("span", { class: "careful" }, age(key.expires_at)) : age(key.expires_at);
}

/** The list of keys. */
export async function keysPage({ refresh }) {
  const page = await api("v1/keys");
  return [
    head("Keys", {
      note: "Each may do what its role may, for its accounts. Keys of the server's file are not listed.",
      tools: h("button", { type: "button", class: "primary", "data-key": "new", onclick: () => make(refresh) }, "New key"),
    }),
    table("Keys", [
      { name: "Name", cell: (key) => key.name ?? id(key.id) },
      { name: "Role", cell: (key) => [key.role, key.allow?.length ? h("span", { class: "soft" }, ` + ${key.allow.join(", ")}`) : ""] },
      { name: "Accounts", wide: true, cell: (key) => key.accounts?.join(", ") ?? h("span", { class: "soft" }, "all") },
      { name: "Used", wide: true, cell: (key) => age(key.last_used_at, "never") },
      { name: "Ends", said: true, cell: end },
      { name: "Made by", wide: true, cell: (key) => h("span", { class: "soft" }, key.created_by ?? "") },
      { name: "", act: true, cell: (key) => act("Revoke", {
        path: `v1/keys/${encodeURIComponent(key.id)}`, method: "DELETE", small: true, danger: true, then: refresh,
        said: "It opens nothing any more.", key: `revoke ${key.id}`,
        ask: { title: `Revoke ${key.name ?? key.id}?`, submit: "Revoke it", text: "It opens nothing any more within a second, everywhere, and what it has open ends." },
      }) },
    ], page.data, {
      nothing: hasKey() ? "No key was made here; those of the server's file are not listed."
        : "There is no key: this server serves everybody on this machine, and nobody else.",
    }),
  ];
}
