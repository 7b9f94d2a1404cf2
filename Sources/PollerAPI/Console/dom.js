// Builds elements. Content from the server is only set as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.setAttribute("class", value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => {
    return child !== null && child !== undefined && child !== false && child !== "";
  }));
  return element;
}

/** An element with attributes, listeners (`onclick`) and children; empty ones are omitted. */
export function h(name, props, ...children) {
  return fill(document.createElement(name), props, children);
}

/** The same for SVG elements. */
export function svg(name, props, ...children) {
  return fill(document.createElementNS(SVG, name), props, children);
}

export const find = (selector, root = document) => root.querySelector(selector);

/** Replaces the content of an element, and keeps the focus and expanded details. */
export function show(root, ...content) {
  const active = root.contains(document.activeElement) ? document.activeElement : null;
  const name = active?.dataset?.key;
  const open = [...root.querySelectorAll("details[open][data-key]")].map((one) => one.dataset.key);
  root.replaceChildren(...content.flat(Infinity).filter(Boolean));
  for (const one of root.querySelectorAll("details[data-key]")) {
    if (open.includes(one.dataset.key)) one.open = true;
  }
  if (name) root.querySelector(`[data-key="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
}

/** Whether the user is pressing a button, selecting text or typing, so that new content would interrupt them. */
export function isBusy(root) {
  if (root.querySelector("button:active, a:active, [aria-busy=true]")) return true;
  const active = document.activeElement;
  if (root.contains(active) && active.matches("input, select, textarea")) return true;
  const selection = document.getSelection();
  return Boolean(selection && !selection.isCollapsed && root.contains(selection.anchorNode));
}

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Resolves when the tab is visible: a hidden tab sends no requests. */
export function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => resolve(), { once: true });
  });
}
