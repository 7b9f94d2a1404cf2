// Elements without markup: what comes from the server is only ever set as text.

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

/** An element with attributes, listeners (`onclick`) and children; what is nothing is left out. */
export function h(name, props, ...children) {
  return fill(document.createElement(name), props, children);
}

/** The same for drawings. */
export function svg(name, props, ...children) {
  return fill(document.createElementNS(SVG, name), props, children);
}

export const find = (selector, root = document) => root.querySelector(selector);

/** Puts new content into an element; whoever had the keyboard there has it again. */
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

/** Whether new content would take something out of somebody's hand: a button, a text, a field. */
export function isBusy(root) {
  if (root.querySelector("button:active, a:active, [aria-busy=true]")) return true;
  const active = document.activeElement;
  if (root.contains(active) && active.matches("input, select, textarea")) return true;
  const selection = document.getSelection();
  return Boolean(selection && !selection.isCollapsed && root.contains(selection.anchorNode));
}

/** Waits. */
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Resolves when somebody looks at the page: a hidden tab asks the server nothing. */
export function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((seen) => {
    document.addEventListener("visibilitychange", () => seen(), { once: true });
  });
}
