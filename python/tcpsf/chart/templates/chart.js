"use strict";
// A page is complete without this script. It adds readouts, a legend that hides series, zoom and saved values.
// Values come from the table of a panel, where a row is a place on the horizontal axis.
// A panel of many points has them in binary form (`dense.py`), and its table is a summary.
for (const figure of document.querySelectorAll("figure[data-title]")) enliven(figure);

function enliven(figure) {
  const off = new Set();
  const tables = figure.querySelectorAll("table");
  const panels = [...figure.querySelectorAll(".panel")].map((panel, index) => enlivenPanel(figure, panel, tables[index], off));

  for (const entry of figure.querySelectorAll(".legend [data-series]")) {
    const series = entry.dataset.series;
    const button = element("button", "");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.append(...entry.firstElementChild.childNodes);
    entry.replaceChildren(button);
    button.addEventListener("click", () => {
      const visible = off.delete(series) || !off.add(series);
      button.setAttribute("aria-pressed", String(visible));
      for (const part of figure.querySelectorAll(`.chart [data-series="${series}"]`)) part.classList.toggle("off", !visible);
      for (const panel of panels) panel.refresh();
    });
  }
}

function enlivenPanel(figure, panel, table, off) {
  const plot = panel.querySelector(".plot");
  const chart = plot.querySelector(".chart");
  const lying = plot.classList.contains("lying"); // categories below each other, values from left to right
  const guide = drawn(chart, "line", { class: "guide", hidden: "hidden", [lying ? "x2" : "y2"]: "100%" });
  const readout = element("div", "readout");
  const axes = plot.dataset.x && { x: scaleOf(plot.dataset.x), y: scaleOf(plot.dataset.y) };
  const packed = [...panel.querySelectorAll(".packed")];
  const view = axes ? zoomable(plot, chart, axes, packed.length ? 1e-6 : 1e-3, () => refresh()) : null;
  const title = figure.querySelectorAll(".panel").length > 1 ? `${figure.dataset.title}, ${panel.dataset.title}` : figure.dataset.title;
  let source = fromRows(table);
  let legend = () => {};
  let shown = -1;

  chart.append(guide);
  readout.hidden = true;
  readout.setAttribute("role", "status");
  plot.append(readout);
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  const zoomKeys = view ? " Plus and minus zoom, 0 shows all, Shift with an arrow key moves the visible part." : "";
  plot.setAttribute("aria-label", `${title}. Left and right arrow keys step through the values.${zoomKeys}`);
  if (view && (packed.length || source.count >= 30)) panel.querySelector(".above").append(view.buttons(() => place()));
  if (packed.length) {
    source.count = 0; // The rows are a summary; the points follow in a moment.
    Promise.all(packed.map(unpack)).then((curves) => {
      source = fromPoints(table, curves, axes, off, view);
      const follows = "follows" in plot.dataset && rungsOf(chart);
      view.redraw = (from, to) => {
        const scale = follows ? fitted(curves, off, axes.y, from, to) : axes.y;
        if (follows) follows(scale === axes.y ? null : scale);
        outline(chart, curves, scale, from, to);
      };
      if (follows) legend = view.apply;
      view.apply();
      figure.dataset.ready = "true";
    });
  }

  function place() {
    return shown < 0 ? null : source.place(shown);
  }

  function show(index) {
    if (!source.count) return;
    shown = Math.max(0, Math.min(index, source.count - 1));
    if (view) view.include(source.place(shown));
    refresh();
  }

  function refresh() {
    if (shown < 0) return;
    const [from, to] = view ? view.range : [0, 1];
    const share = (source.place(shown) - from) / (to - from);
    if (share < -0.001 || share > 1.001) return hide();
    for (const end of lying ? ["y1", "y2"] : ["x1", "x2"]) guide.setAttribute(end, `${(100 * share).toFixed(2)}%`);
    guide.removeAttribute("hidden");
    const [head, lines] = source.read(shown);
    readout.replaceChildren(element("strong", "", head));
    for (const [series, label, value] of lines) {
      if (!value || off.has(series)) continue;
      const line = element("div", "");
      const key = figure.querySelector(`.legend [data-series="${series}"] .key`);
      line.append(key.cloneNode(true), element("span", "", label), element("span", "value", value));
      readout.append(line);
    }
    const right = lying || share < 0.5;
    readout.style.top = lying ? `${chart.getBoundingClientRect().height * share + 24}px` : "";
    readout.style.left = right ? "auto" : `${chart.getBoundingClientRect().left - plot.getBoundingClientRect().left + 8}px`;
    readout.style.right = right ? "24px" : "auto";
    readout.hidden = false;
  }

  function hide() {
    shown = -1;
    readout.hidden = true;
    guide.setAttribute("hidden", "hidden");
  }

  function follow(event) {
    if (!source.count) return;
    const box = chart.getBoundingClientRect();
    const share = lying ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width;
    if (share < -0.04 || share > 1.04) return hide();
    const [from, to] = view ? view.range : [0, 1];
    shown = source.near(from + Math.max(0, Math.min(share, 1)) * (to - from));
    refresh();
  }

  const keys = {
    ArrowRight: () => show(shown < 0 ? 0 : source.next(shown, 1)),
    ArrowLeft: () => show(shown < 0 ? source.count - 1 : source.next(shown, -1)),
    ArrowDown: () => show(shown < 0 ? 0 : source.next(shown, 1)),
    ArrowUp: () => show(shown < 0 ? source.count - 1 : source.next(shown, -1)),
    Home: () => show(0),
    End: () => show(source.count - 1),
    Escape: hide,
    ...(view && { "+": () => view.zoom(0.5, place()), "=": () => view.zoom(0.5, place()), "-": () => view.zoom(2, place()), 0: () => view.set(0, 1) }),
  };
  plot.addEventListener("pointermove", follow);
  plot.addEventListener("pointerdown", follow);
  // A finger that is lifted leaves, too. The readout stays until the next touch.
  plot.addEventListener("pointerleave", (event) => event.pointerType === "touch" || hide());
  plot.addEventListener("focus", () => shown < 0 && plot.matches(":focus-visible") && show(0));
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    if (event.target !== plot) return;
    const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (view && side && event.shiftKey) return view.pan(side / 4);
    if (!lying && (event.key === "ArrowDown" || event.key === "ArrowUp")) return; // they scroll the page
    if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });

  const save = element("button", "save", "Save as CSV");
  save.type = "button";
  save.addEventListener("click", () => {
    const link = element("a", "");
    link.href = URL.createObjectURL(new Blob([source.csv()], { type: "text/csv" }));
    link.download = `${figure.id}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  table.parentElement.before(save);
  return {
    refresh() {
      legend();
      refresh();
    },
  };
}

// The values of a table; an index is a row.
function fromRows(table) {
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows].filter((row) => row.dataset.x);
  const place = (index) => Number(rows[index].dataset.x) / 100;
  return {
    count: rows.length,
    place,
    next: (index, step) => index + step,
    near(share) {
      const far = rows.map((_row, index) => Math.abs(place(index) - share));
      return far.indexOf(Math.min(...far));
    },
    read(index) {
      const cells = rows[index].cells;
      const lines = heads.slice(1).map((head, column) => [head.dataset.series, head.textContent, cells[column + 1].textContent]);
      return [`${heads[0].textContent}: ${cells[0].textContent}`, lines];
    },
    csv: () => csv(table),
  };
}

// The visible part of the horizontal axis, as shares of the whole, and how a reader changes it.
function zoomable(plot, chart, axes, least, changed) {
  const ticks = chart.querySelector(".ticks");
  const original = [...ticks.childNodes];
  const stage = chart.querySelector(".stage");
  const marks = plot.classList.contains("dense") ? [...stage.querySelectorAll("use")].map((mark) => [mark, parseFloat(mark.getAttribute("x")) / 100]) : [];
  const selected = element("div", "selected");
  const fingers = new Map();
  let drag = null;
  const view = { range: [0, 1], redraw: null, set, zoom, pan, include, apply, buttons };
  const movers = [];

  function set(from, to) {
    const wide = Math.max(least, Math.min(to - from, 1));
    const start = Math.max(0, Math.min(from, 1 - wide));
    view.range = wide === 1 ? [0, 1] : [start, start + wide];
    apply();
    changed();
  }

  function zoom(factor, around) {
    const [from, to] = view.range;
    const middle = around === null ? (from + to) / 2 : around;
    set(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }

  // Moves the visible part by a share of its length.
  function pan(share) {
    const [from, to] = view.range;
    set(from + share * (to - from), to + share * (to - from));
  }

  function include(place) {
    const [from, to] = view.range;
    if (place < from || place > to) set(place - (to - from) / 2, place + (to - from) / 2);
  }

  function apply() {
    const [from, to] = view.range;
    const zoomed = to - from < 1;
    plot.classList.toggle("zoomed", zoomed);
    for (const button of movers) button.disabled = !zoomed;
    if (view.redraw) {
      view.redraw(from, to);
      for (const [mark, share] of marks) mark.setAttribute("x", `${(100 * (share - from)) / (to - from)}%`);
    } else {
      stage.setAttribute("x", `${(-100 * from) / (to - from)}%`);
      stage.setAttribute("width", `${100 / (to - from)}%`);
    }
    ticks.replaceChildren(...(zoomed ? newTicks(chart, axes.x, from, to) : original));
  }

  function buttons(place) {
    const group = element("div", "zoom");
    const made = [
      ["+", "Zoom in", () => zoom(0.5, place())],
      ["−", "Zoom out", () => zoom(2, place())],
      ["‹", "Move to the left", () => pan(-0.5)],
      ["›", "Move to the right", () => pan(0.5)],
      ["All", "Show the whole axis", () => set(0, 1)],
    ].map(([sign, name, act]) => {
      const button = element("button", "", sign);
      button.type = "button";
      button.title = name;
      button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
      return button;
    });
    movers.push(...made.slice(2));
    for (const button of movers) button.disabled = true;
    group.append(...made);
    return group;
  }

  function share(clientX) {
    const box = chart.getBoundingClientRect();
    const [from, to] = view.range;
    return from + Math.max(0, Math.min((clientX - box.left) / box.width, 1)) * (to - from);
  }

  plot.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!event.ctrlKey && !(sideways && plot.classList.contains("zoomed"))) return; // the wheel alone scrolls the page
    event.preventDefault();
    if (!event.ctrlKey) return pan((event.deltaX || event.deltaY) / chart.getBoundingClientRect().width);
    zoom(Math.exp(Math.max(-1, Math.min(event.deltaY / 100, 1))), share(event.clientX));
  }, { passive: false });
  plot.addEventListener("dblclick", () => set(0, 1));
  plot.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") {
      fingers.set(event.pointerId, event.clientX);
      drag = { range: view.range, fingers: [...fingers.values()] };
    } else if (event.button === 0 && event.shiftKey) drag = { range: view.range, fingers: [event.clientX] };
    else if (event.button === 0) drag = { start: event.clientX };
  });
  plot.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const box = chart.getBoundingClientRect();
    if (event.pointerType === "touch") return moved(event, box);
    if (drag.fingers) {
      const [from, to] = drag.range;
      const step = ((drag.fingers[0] - event.clientX) / box.width) * (to - from);
      return set(from + step, to + step);
    }
    const [left, right] = [drag.start, event.clientX].sort((one, other) => one - other);
    if (right - left < 8) return;
    if (!selected.isConnected) {
      plot.append(selected);
      plot.setPointerCapture(event.pointerId);
    }
    const ends = [left, right].map((end) => Math.max(box.left, Math.min(end, box.right)));
    selected.style.left = `${ends[0] - plot.getBoundingClientRect().left}px`;
    selected.style.width = `${ends[1] - ends[0]}px`;
    selected.style.top = `${box.top - plot.getBoundingClientRect().top}px`;
    selected.style.height = `${chart.height.baseVal.value}px`;
  });
  const stop = (event) => {
    fingers.delete(event.pointerId);
    if (drag && selected.isConnected && event.type === "pointerup") set(...[drag.start, event.clientX].map(share).sort((one, other) => one - other));
    selected.remove();
    drag = fingers.size ? { range: view.range, fingers: [...fingers.values()] } : null;
  };
  plot.addEventListener("pointerup", stop);
  plot.addEventListener("pointercancel", stop);

  // Two fingers keep their places on the axis; one finger moves the visible part.
  function moved(event, box) {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event.clientX);
    const [from, to] = drag.range;
    const before = drag.fingers.map((x) => from + ((x - box.left) / box.width) * (to - from));
    const now = [...fingers.values()].map((x) => (x - box.left) / box.width);
    if (now.length === 1 && to - from < 1) return set(before[0] - now[0] * (to - from), before[0] + (1 - now[0]) * (to - from));
    if (now.length !== 2 || Math.abs(now[1] - now[0]) < 0.02) return;
    const wide = Math.abs((before[1] - before[0]) / (now[1] - now[0]));
    set(before[0] - now[0] * wide, before[0] + (1 - now[0]) * wide);
  }
  return view;
}

function newTicks(chart, scale, from, to) {
  const [low, high] = [valueAt(scale, from), valueAt(scale, to)];
  const room = chart.getBoundingClientRect().width;
  const height = chart.height.baseVal.value;
  const made = [drawn(chart, "line", { class: "axis", x2: "100%", y1: height, y2: height })];
  for (const [value, text] of tickValues(scale, low, high, Math.max(2, Math.floor(room / 90)))) {
    const x = `${(100 * (shareOf(scale, value) - from)) / (to - from)}%`;
    made.push(drawn(chart, "line", { class: "mark", x1: x, x2: x, y1: height, y2: height + 5 }));
    const label = drawn(chart, "text", { class: "tick", x, y: height + 18, "text-anchor": "middle" });
    label.textContent = text;
    made.push(label);
  }
  return made;
}

function tickValues(scale, low, high, count) {
  if (scale.log && high / low >= 10) {
    const exponents = [];
    for (let exponent = Math.ceil(Math.log10(low) - 1e-9); 10 ** exponent <= high * (1 + 1e-9); exponent += 1) exponents.push(exponent);
    const every = Math.ceil(exponents.length / count);
    const digits = exponents.length * 3 <= count ? [1, 2, 5] : [1];
    return exponents
      .filter((_exponent, index) => index % every === 0)
      .flatMap((exponent) => digits.map((digit) => Number(`${digit}e${exponent}`)))
      .filter((value) => value <= high)
      .map((value) => [value, short(value)]);
  }
  const wanted = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = power * [1, 2, 5, 10].find((digit) => digit * power >= wanted * 0.999);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) found.push([index * step, decimals > 12 ? short(index * step) : grouped((index * step).toFixed(decimals))]);
  return found;
}

function scaleOf(text) {
  const [kind, low, high] = text.split(" ");
  return { log: kind === "log", low: Number(low), high: Number(high) };
}

function valueAt({ log, low, high }, share) {
  return log ? low * (high / low) ** share : low + share * (high - low);
}

// Value of a packed position, rounded to the precision of the binary form.
function stored(scale, share) {
  const value = valueAt(scale, share);
  if (scale.log) return Number(value.toPrecision(7));
  const decimals = Math.max(0, Math.min(7 - Math.floor(Math.log10(scale.high - scale.low)), 20));
  return Number(value.toFixed(decimals));
}

function shareOf({ log, low, high }, value) {
  if (!log) return (value - low) / (high - low);
  return value > 0 || Number.isNaN(value) ? Math.log(value / low) / Math.log(high / low) : -Infinity;
}

// Index of the first number of an ascending array that is not below a limit.
function firstNotBelow(numbers, limit) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

// A number of pixels with one decimal.
function tenths(value) {
  return Math.round(10 * value) / 10;
}

// Text of a number, with all digits of an integer if they are known.
function exact(value, known) {
  return known && Number.isInteger(value) ? grouped(String(value)) : short(value);
}

// Text of a number with up to six significant digits.
function short(value) {
  const [digits, exponent] = value.toPrecision(6).replace(/\.?0+(e|$)/, "$1").split("e");
  if (exponent === undefined) return grouped(digits.includes(".") || !/0$/.test(digits) ? digits : String(Number(value.toPrecision(6))));
  const power = `10${[...String(Number(exponent))].map((letter) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[letter] || "⁻").join("")}`;
  return digits === "1" ? power : `${digits.replace("-", "−")}·${power}`;
}

// Text of a number with separated thousands from 10 000 on.
function grouped(text) {
  const [whole, rest] = text.replace("-", "−").split(".");
  const apart = whole.replace("−", "").length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  return rest === undefined ? apart : `${apart}.${rest}`;
}

// A column of ours becomes three: the value and the ends of its interval, unrounded.
function csv(table) {
  const lines = [...table.rows].map((row) =>
    [...row.cells].flatMap((cell, column) => {
      const head = table.tHead.rows[0].cells[column];
      const { value = "", low = "", high = "" } = cell.dataset;
      if (row.parentElement === table.tHead) {
        const name = cell.textContent;
        return "ours" in head.dataset ? [name, `${name}, low`, `${name}, high`] : [name];
      }
      return "ours" in head.dataset ? [value, low, high] : [value];
    })
  );
  return lines.map((cells) => cells.map(quoted).join(",") + "\r\n").join("");
}

function quoted(cell) {
  return `"${cell.replaceAll('"', '""')}"`;
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (text) made.textContent = text;
  return made;
}

function drawn(chart, tag, attributes) {
  const made = document.createElementNS(chart.namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

{% include "dense.js" %}
