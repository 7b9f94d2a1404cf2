// Small line charts without a library.

import { h, svg } from "./dom.js";
import { count, dayTime } from "./words.js";

const [WIDTH, HEIGHT] = [280, 64];
/** The number of points that a chart can show. */
const POINTS = 140;

/** Reduces values to the maximum of each interval. */
function thinned(values, most) {
  if (values.length <= most) return values;
  const stretch = values.length / most;
  return Array.from({ length: most }, (_, index) => {
    const part = values.slice(Math.floor(index * stretch), Math.floor((index + 1) * stretch))
      .filter((value) => value !== null);
    return part.length ? Math.max(...part) : null;
  });
}

/** An SVG path with gaps where values are missing. */
function path(values, top) {
  let text = "";
  let isDown = false;
  values.forEach((value, index) => {
    if (value === null || value === undefined) {
      isDown = false;
      return;
    }
    const x = (index / Math.max(1, values.length - 1)) * WIDTH;
    const y = HEIGHT - 2 - (value / top) * (HEIGHT - 6);
    text += `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    // A single point is a dot.
    if (!isDown) text += `h.01`;
    isDown = true;
  });
  return text;
}

/**
 * A small chart. `lines` are `{values, class}`, and `said` formats a value. `from` is the time of the first point and
 * `step` the length of each, both in ms. `ago` is the age of the first point as text.
 *
 * Pointing at the chart shows time and value. Screen readers get the last and the maximum value.
 */
export function chart({ title, lines, said = count, span, ago, from, step, colour }) {
  const known = lines.flatMap((line) => line.values).filter((value) => value !== null && value !== undefined);
  const top = Math.max(1, ...known);
  const last = lines[0].values.findLast((value) => value !== null && value !== undefined);
  const most = known.length ? `max ${said(Math.max(...known))}` : "no data yet";
  const words = known.length
    ? `${title}, ${span}: ${said(last)} now, ${most}`
    : `${title}: no data for the ${span}`;
  const shown = lines.map((line) => thinned(line.values, POINTS));
  const mark = svg("path", { class: "mark", d: "" });
  const read = h("span", null, most);
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": words },
    svg("path", { class: "base", d: `M0 ${HEIGHT - 1}H${WIDTH}` }), mark,
    lines.map((line, index) => svg("path", { class: line.class ?? "line", d: path(shown[index], top) })));
  drawing.addEventListener("pointermove", (event) => {
    const points = shown[0].length;
    if (points < 2) return;
    const box = drawing.getBoundingClientRect();
    const index = Math.max(0, Math.min(points - 1, Math.round((event.clientX - box.left) / box.width * (points - 1))));
    const values = shown.map((line) => line[index]).map((value) => value === null || value === undefined ? "–" : said(value));
    const at = from + Math.floor(index * lines[0].values.length / points) * step;
    mark.setAttribute("d", `M${(index / (points - 1) * WIDTH).toFixed(1)} 0V${HEIGHT}`);
    read.textContent = `${dayTime(at)}: ${values.join(", ")}`;
  });
  drawing.addEventListener("pointerleave", () => {
    mark.setAttribute("d", "");
    read.textContent = most;
  });
  return h("figure", { class: "chart" },
    h("figcaption", null, h("span", null, title),
      h("strong", { class: colour?.(last) ?? null }, known.length ? said(last) : "–")),
    drawing,
    h("p", { class: "soft", "aria-hidden": "true" }, h("span", null, `${ago} ago`), read, h("span", null, "now")));
}
