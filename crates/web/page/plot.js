// Small charts of the page: dots, steps and vertical lines over two axes.

const HEIGHT = 260;

/** Values of ticks of an axis. */
function ticksOf({ low, high, log }) {
  if (log) {
    const found = [];
    for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power += 1) found.push(10 ** power);
    return found;
  }
  const exponent = Math.floor(Math.log10((high - low) / 5 || 1));
  const step = [1, 2, 5, 10].map((factor) => factor * 10 ** exponent).find((each) => (high - low) / each <= 6);
  const found = [];
  for (let number = Math.ceil(low / step - 1e-9); number * step <= high + 1e-9 * step; number += 1) found.push(number * step);
  return found;
}

const short = (value) => {
  if (value === 0) return "0";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (magnitude >= 1e4) return `${Number((value / 1e3).toPrecision(3))} k`;
  return String(Number(value.toPrecision(4)));
};

/** SVG of a chart. Each series has a class, a kind (`line`, `step`, `dots`, `spans`) and points. */
function chartOf({ title, x, y, series, width }) {
  const [left, right, top, foot] = [58, 10, 10, 34];
  const share = (axis, value) => (axis.log ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : (value - axis.low) / (axis.high - axis.low || 1));
  const across = (value) => left + (width - left - right) * share(x, value);
  const down = (value) => top + (HEIGHT - top - foot) * (1 - share(y, value));
  const parts = [];
  for (const value of ticksOf(x)) parts.push(`<text class="tick" x="${across(value).toFixed(1)}" y="${HEIGHT - 18}" text-anchor="middle">${short(value)}</text>`);
  for (const value of ticksOf(y)) {
    const at = down(value).toFixed(1);
    parts.push(`<line class="grid" x1="${left}" x2="${width - right}" y1="${at}" y2="${at}"/><text class="tick" x="${left - 6}" y="${Number(at) + 4}" text-anchor="end">${short(value)}</text>`);
  }
  parts.push(`<text class="tick" x="${(left + width - right) / 2}" y="${HEIGHT - 3}" text-anchor="middle">${escaped(x.label)}</text>`);
  const clip = `clip${Math.random().toString(36).slice(2)}`;
  parts.push(`<clipPath id="${clip}"><rect x="${left}" y="${top - 4}" width="${width - left - right}" height="${HEIGHT - top - foot + 8}"/></clipPath><g clip-path="url(#${clip})">`);
  for (const { kind, color, points } of series) {
    const path = [];
    let before = null;
    let column = null;
    for (const point of points) {
      if (x.log && point[0] <= 0 || y.log && point[1] <= 0) continue;
      const [px, py] = [Math.round(2 * across(point[0])) / 2, Math.round(2 * down(point[1])) / 2];
      if (px < left - 60 || px > width + 60) {
        before = [px, py];
        continue;
      }
      if (kind === "dots") path.push(`M${px} ${py}h0`);
      else if (kind === "spans") {
        const end = Math.min(Math.round(2 * down(point[2])) / 2, py - 1.5);
        const text = `M${px} ${py}V${end}`;
        if (text !== column) path.push(text);
        column = text;
      } else {
        if (!path.length) path.push(before ? `M${before[0]} ${kind === "step" ? before[1] : before[1]}` : `M${px} ${py}`);
        path.push(kind === "step" ? `H${px}V${py}` : `L${px} ${py}`);
      }
    }
    parts.push(`<path class="${kind} ${color}" d="${path.join("")}"/>`);
  }
  parts.push("</g>");
  return `<svg class="chart" role="img" aria-label="${escaped(title)}" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}">${parts.join("")}</svg>`;
}

/** Table of texts; the first row has the heads. */
function tableOf(title, rows, left = [0]) {
  const kind = (column) => (left.includes(column) ? ' class="text"' : "");
  const [heads, ...others] = rows;
  const row = (cells) => `<tr>${cells.map((cell, column) => (column ? `<td${kind(column)}>${cell}</td>` : `<th scope="row"${kind(column)}>${cell}</th>`)).join("")}</tr>`;
  return `<div class="wide" role="region" tabindex="0" aria-label="${escaped(title)}"><table><thead><tr>${heads.map((cell, column) => `<th scope="col"${kind(column)}>${cell}</th>`).join("")}</tr></thead><tbody>${others.map(row).join("")}</tbody></table></div>`;
}
