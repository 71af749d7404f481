// Panels of many points, and panels whose vertical axis follows the zoom. Part of `chart.js`.

// The points of dense curves; an index is a point of the first visible curve.
function fromPoints(table, curves, axes, off, view) {
  const heads = [...table.tHead.rows[0].cells];
  const label = heads[0].textContent.replace(/, from$/, "");
  const labels = curves.map((_curve, series) => heads.find((head) => head.dataset.series === String(series) && "ours" in head.dataset).textContent);
  const lead = () => curves.find((curve, series) => curve.count && !off.has(String(series))) || curves[0];
  const at = (curve, share) => {
    const after = firstNotBelow(curve.x, share);
    if (curve.style === "step") return curve.x[after] === share ? after : after - 1;
    return after === curve.count || (after > 0 && share - curve.x[after - 1] < curve.x[after] - share) ? after - 1 : after;
  };
  return {
    get count() {
      return lead().count;
    },
    place: (index) => lead().x[Math.min(index, lead().count - 1)],
    near: (share) => Math.max(0, at(lead(), share)),
    next(index, step) {
      const [from, to] = view.range;
      const wanted = lead().x[index] + (step * (to - from)) / 100;
      const found = firstNotBelow(lead().x, wanted);
      return step > 0 ? Math.max(found, index + 1) : Math.min(found, index - 1);
    },
    read(index) {
      const share = lead().x[Math.min(index, lead().count - 1)];
      const lines = curves.map((curve, series) => {
        const found = at(curve, share);
        if (found < 0 || found >= curve.count || Number.isNaN(curve.values[0][found])) return [String(series), labels[series], ""];
        if (spanned(curve)) return [String(series), labels[series], spansAt(curve, found, share, view.range)];
        const [value, low, high] = curve.values.map((column) => exact(column[found], curve.wide));
        return [String(series), labels[series], low === undefined ? value : `${value} [${low},${high}]`];
      });
      return [`${label}: ${short(stored(axes.x, share))}`, lines];
    },
    csv() {
      const lines = [["series", label, "value", "low", "high"].map(quoted).join(",")];
      for (const [series, curve] of curves.entries())
        for (let index = 0; index < curve.count; index += 1) {
          const x = stored(axes.x, curve.x[index]);
          const plain = (value) => (Number.isNaN(value) ? "" : curve.wide ? value : Number(value.toPrecision(7)));
          const [low, length] = curve.values.map((column) => column[index]);
          const values = spanned(curve) ? ["", plain(low), plain(low + length)] : curve.values.map((column) => plain(column[index]));
          lines.push([quoted(labels[series]), x, ...values].join(","));
        }
      return `${lines.join("\r\n")}\r\n`;
    },
  };
}

// Points of a curve from their binary form: distances between positions, then columns of values.
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const content = await new Response(stream).arrayBuffer();
  const count = Number(packed.dataset.count);
  const first = Number(packed.dataset.first);
  const span = Number(packed.dataset.last) - first;
  const steps = new Uint32Array(bySignificance(content, 0, 4, count));
  const x = new Float64Array(count);
  for (let index = 0, sum = 0; index < count; index += 1) {
    sum += steps[index];
    x[index] = first + (span * sum) / 4294967295;
  }
  const values = [];
  const wide = packed.dataset.bytes === "8";
  for (let column = 0; column < Number(packed.dataset.columns); column += 1) {
    const numbers = bySignificance(content, 4 * count + (wide ? 8 : 4) * count * column, wide ? 8 : 4, count);
    values.push(wide ? new Float64Array(numbers) : new Float32Array(numbers));
  }
  return { count, x, values, wide, style: packed.dataset.style };
}

// Numbers of a column that has the first bytes of all numbers, then the second ones, and so on.
function bySignificance(content, start, size, count) {
  const bytes = new Uint8Array(content, start, size * count);
  const found = new Uint8Array(size * count);
  for (let place = 0, from = 0; place < size; place += 1)
    for (let to = place; to < found.length; to += size, from += 1) found[to] = bytes[from];
  return found.buffer;
}

// Whether the points of a curve are vertical lines; their values are lower ends and lengths.
function spanned(curve) {
  return curve.style.endsWith("span");
}

// Text of the spans at the place of one of them, those that touch as one; empty far from the pointer.
function spansAt(curve, index, share, [from, to]) {
  if (Math.abs(curve.x[index] - share) > 0.006 * (to - from)) return "";
  const [lows, lengths] = curve.values;
  const first = firstNotBelow(curve.x, curve.x[index]);
  const found = [];
  for (let each = first; each < curve.count && curve.x[each] === curve.x[first] && found.length < 4; each += 1) {
    const end = lows[each] + lengths[each];
    if (found.length && found.at(-1)[1] === lows[each]) found.at(-1)[1] = end;
    else found.push([lows[each], end]);
  }
  return found.map((ends) => ends.map((end) => exact(end, true)).join("–")).join(", ");
}

// Ends of a vertical axis that show the visible spans, or the visible lines where there is no span.
function fitted(curves, off, whole, from, to) {
  if (from === 0 && to === 1) return whole;
  let [low, high] = [Infinity, -Infinity];
  const add = (curve, first, last) => {
    for (let index = Math.max(0, first); index < last; index += 1) {
      const value = curve.values[0][index];
      const end = spanned(curve) ? value + curve.values[1][index] : value;
      if (value < low) low = value;
      if (end > high) high = end;
    }
  };
  const visible = curves.filter((_curve, series) => !off.has(String(series)));
  for (const curve of visible.filter(spanned)) add(curve, firstNotBelow(curve.x, from), firstNotBelow(curve.x, to));
  if (!(low < high)) for (const curve of visible.filter((each) => !spanned(each))) add(curve, firstNotBelow(curve.x, from) - 1, firstNotBelow(curve.x, to));
  if (whole.log) low = Math.max(low, whole.low);
  if (!(low <= high)) return whole;
  const margin = whole.log ? (high / low) ** 0.06 * 1.01 : 0.06 * (high - low) || 1;
  return whole.log ? { log: true, low: low / margin, high: high * margin } : { log: false, low: low - margin, high: high + margin };
}

// Returns a function that draws the lines and labels of a vertical axis, or the original ones.
function rungsOf(chart) {
  const group = chart.querySelector(".rungs");
  const original = [...group.childNodes];
  return (scale) => {
    if (!scale) return group.replaceChildren(...original);
    const height = chart.height.baseVal.value;
    const made = tickValues(scale, scale.low, scale.high, 6).flatMap(([value, text]) => {
      const y = (height * (1 - shareOf(scale, value))).toFixed(1);
      const label = drawn(chart, "text", { class: "tick", x: -8, y: Number(y) + 4, "text-anchor": "end" });
      label.textContent = text;
      return [drawn(chart, "line", { class: "grid", x2: "100%", y1: y, y2: y }), label];
    });
    group.replaceChildren(...made);
  };
}

// Draw the visible part of dense curves, as `dense.outline` and `dense.band` draw the whole.
function outline(chart, curves, scale, from, to) {
  const [width, height] = [1000, chart.height.baseVal.value];
  const down = (value) => height * (1 - Math.max(-1, Math.min(shareOf(scale, value), 2)));
  for (const [series, curve] of curves.entries()) {
    const first = Math.max(0, firstNotBelow(curve.x, from) - 1);
    const last = Math.min(curve.count, firstNotBelow(curve.x, to) + 1);
    const across = (index) => (width * (curve.x[index] - from)) / (to - from);
    for (const path of chart.querySelectorAll(`[data-series="${series}"] path`)) {
      if (path.classList.contains("band")) path.setAttribute("d", bandPath(curve, first, last, across, down));
      else if (path.classList.contains("spans")) path.setAttribute("d", spansPath(curve, first, last, across, down));
      else if (path.classList.contains("dots")) path.setAttribute("d", dotsPath(curve, first, last, across, down));
      else path.setAttribute("d", linePath(curve, first, last, across, down));
    }
  }
}

function linePath(curve, first, last, across, down) {
  const parts = [];
  let column = null;
  let open = false;
  const flush = () => {
    if (!column) return;
    const { x, start, least, greatest, end, right } = column;
    parts.push(`${open ? "L" : "M"}${x} ${start}`, `L${x} ${least}`, `L${x} ${greatest}`, `L${right} ${end}`);
    open = true;
    column = null;
  };
  const add = (x, y) => {
    const at = Math.floor(x);
    if (column && column.at !== at) flush();
    if (!column) column = { at, x: tenths(x), start: y, least: y, greatest: y };
    column.least = Math.min(column.least, y);
    column.greatest = Math.max(column.greatest, y);
    column.end = y;
    column.right = tenths(x);
  };
  for (let index = first, before = NaN; index < last; index += 1) {
    const y = tenths(down(curve.values[0][index]));
    if (Number.isNaN(y)) {
      flush();
      open = false;
    } else {
      if (curve.style === "step" && !Number.isNaN(before)) add(across(index), before);
      add(across(index), y);
    }
    before = y;
  }
  flush();
  return parts.join("");
}

// Vertical lines, merged where they overlap in a column of pixels.
function spansPath(curve, first, last, across, down) {
  const [lows, lengths] = curve.values;
  const least = curve.style === "bold-span" ? 7 : 1.5;
  const parts = [];
  let column = NaN;
  let pieces = [];
  const flush = () => {
    pieces.sort((one, other) => one[0] - other[0]);
    for (let index = 0; index < pieces.length; ) {
      const start = pieces[index][0];
      let end = pieces[index][1];
      for (index += 1; index < pieces.length && pieces[index][0] <= end + 0.5; index += 1) end = Math.max(end, pieces[index][1]);
      parts.push(`M${column} ${tenths(start)}V${tenths(end)}`);
    }
    pieces = [];
  };
  for (let index = first; index < last; index += 1) {
    const at = Math.floor(across(index));
    if (at !== column) {
      flush();
      column = at;
    }
    const [top, bottom] = [down(lows[index] + lengths[index]), down(lows[index])];
    if (Number.isNaN(top) || Number.isNaN(bottom)) continue;
    const longer = Math.max(least - (bottom - top), 0) / 2;
    const latest = pieces.at(-1);
    if (latest && top - longer <= latest[1] + 0.5 && bottom + longer >= latest[0] - 0.5) {
      latest[0] = Math.min(latest[0], top - longer);
      latest[1] = Math.max(latest[1], bottom + longer);
    } else pieces.push([top - longer, bottom + longer]);
  }
  flush();
  return parts.join("");
}

function bandPath(curve, first, last, across, down) {
  const parts = [];
  let highs = [];
  let lows = [];
  const flush = () => {
    if (highs.length) parts.push(`M${[...highs, ...lows.reverse()].map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}Z`);
    [highs, lows] = [[], []];
  };
  const add = (x, high, low) => {
    const end = highs.at(-1);
    if (end && Math.floor(end[0]) === Math.floor(x)) {
      end[1] = Math.min(end[1], high);
      lows.at(-1)[1] = Math.max(lows.at(-1)[1], low);
    } else {
      highs.push([x, high]);
      lows.push([x, low]);
    }
  };
  for (let index = first; index < last; index += 1) {
    const [low, high] = [down(curve.values[1][index]), down(curve.values[2][index])];
    if (Number.isNaN(low) || Number.isNaN(high)) flush();
    else {
      if (curve.style === "step" && highs.length) add(across(index), highs.at(-1)[1], lows.at(-1)[1]);
      add(across(index), high, low);
    }
  }
  flush();
  return parts.join("");
}

function dotsPath(curve, first, last, across, down) {
  const dots = new Set();
  for (let index = first; index < last; index += 1) {
    const [x, y] = [across(index), down(curve.values[0][index])];
    if (x >= 0 && x <= 1000 && !Number.isNaN(y)) dots.add(`M${2 * Math.round(x / 2)} ${2 * Math.round(y / 2)}h0`);
  }
  return [...dots].join("");
}
