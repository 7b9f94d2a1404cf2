// Small drawings of what was, without a library.

import { h, svg } from "./dom.js";
import { count } from "./words.js";

const [WIDTH, HEIGHT] = [280, 64];

/** As many points as the drawing can show: the greatest of each stretch. */
function thinned(values, most) {
  if (values.length <= most) return values;
  const stretch = values.length / most;
  return Array.from({ length: most }, (_, index) => {
    const part = values.slice(Math.floor(index * stretch), Math.floor((index + 1) * stretch))
      .filter((value) => value !== null);
    return part.length ? Math.max(...part) : null;
  });
}

/** A line with gaps where nothing is known. */
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
    // A point alone is a dot.
    if (!isDown) text += `h.01`;
    isDown = true;
  });
  return text;
}

/**
 * One small chart: `lines` are `{values, class}`, `said` makes a text of a value.
 *
 * Who does not see it is told the last value and the greatest one.
 */
export function chart({ title, lines, said = count, span, colour }) {
  const known = lines.flatMap((line) => line.values).filter((value) => value !== null && value !== undefined);
  const top = Math.max(1, ...known);
  const last = lines[0].values.findLast((value) => value !== null && value !== undefined);
  const words = known.length
    ? `${title}, ${span}: ${said(last)} now, ${said(Math.max(...known))} at most`
    : `${title}: nothing is known of the ${span}`;
  return h("figure", { class: "chart" },
    h("figcaption", null, h("span", null, title),
      h("strong", { class: colour?.(last) ?? null }, known.length ? said(last) : "–")),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": words },
      svg("path", { class: "base", d: `M0 ${HEIGHT - 1}H${WIDTH}` }),
      lines.map((line) => svg("path", { class: line.class ?? "line", d: path(thinned(line.values, 140), top) }))),
    h("p", { class: "soft" }, known.length ? `at most ${said(Math.max(...known))}` : "nothing yet"));
}
