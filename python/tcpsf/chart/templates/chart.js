"use strict";
// Everything that is shown comes from the table below each chart: a row is a place on the horizontal axis.
for (const figure of document.querySelectorAll("figure")) enliven(figure);

function enliven(figure) {
  const plot = figure.querySelector(".plot");
  const chart = plot.querySelector(".chart");
  const lying = plot.classList.contains("lying"); // categories below each other, values from left to right
  const guide = document.createElementNS(chart.namespaceURI, "line");
  const table = figure.querySelector("table");
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows].filter((row) => row.dataset.x);
  const off = new Set();
  const readout = element("div", "readout");
  let shown = -1;

  guide.classList.add("guide");
  guide.setAttribute("hidden", "hidden");
  guide.setAttribute(lying ? "x2" : "y2", "100%");
  chart.append(guide);
  readout.hidden = true;
  readout.setAttribute("role", "status");
  plot.append(readout);
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", `${figure.dataset.title}. Left and right arrow keys step through the values.`);

  function show(index) {
    if (!rows.length) return;
    shown = Math.max(0, Math.min(index, rows.length - 1));
    const place = Number(rows[shown].dataset.x);
    for (const end of lying ? ["y1", "y2"] : ["x1", "x2"]) guide.setAttribute(end, `${place}%`);
    guide.removeAttribute("hidden");
    readout.replaceChildren(element("strong", "", `${heads[0].textContent}: ${rows[shown].cells[0].textContent}`));
    for (const [column, head] of heads.entries()) {
      const value = rows[shown].cells[column].textContent;
      if (column === 0 || !value || off.has(head.dataset.series)) continue;
      const line = element("div", "");
      const key = figure.querySelector(`.legend [data-series="${head.dataset.series}"] .key`);
      line.append(key.cloneNode(true), element("span", "", head.textContent), element("span", "value", value));
      readout.append(line);
    }
    const right = lying || place < 50;
    readout.style.top = lying ? `${(chart.getBoundingClientRect().height * place) / 100 + 24}px` : "";
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
    const box = chart.getBoundingClientRect();
    const place = lying
      ? (100 * (event.clientY - box.top)) / box.height
      : (100 * (event.clientX - box.left)) / box.width;
    if (place < -4 || place > 104) return hide();
    const far = rows.map((row) => Math.abs(Number(row.dataset.x) - place));
    show(far.indexOf(Math.min(...far)));
  }

  const keys = {
    ArrowRight: () => show(shown + 1),
    ArrowLeft: () => show(shown < 0 ? rows.length - 1 : shown - 1),
    ArrowDown: () => show(shown + 1),
    ArrowUp: () => show(shown < 0 ? rows.length - 1 : shown - 1),
    Home: () => show(0),
    End: () => show(rows.length - 1),
    Escape: hide,
  };
  plot.addEventListener("pointermove", follow);
  plot.addEventListener("pointerdown", follow);
  // A finger that is lifted leaves, too: what it asked for stays until it asks elsewhere.
  plot.addEventListener("pointerleave", (event) => event.pointerType === "touch" || hide());
  plot.addEventListener("focus", () => shown < 0 && plot.matches(":focus-visible") && show(0));
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    if (!lying && (event.key === "ArrowDown" || event.key === "ArrowUp")) return; // they scroll the page
    if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });

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
      for (const part of chart.querySelectorAll(`[data-series="${series}"]`)) part.classList.toggle("off", !visible);
      if (shown >= 0) show(shown);
    });
  }

  const save = element("button", "save", "Save as CSV");
  save.type = "button";
  save.addEventListener("click", () => {
    const link = element("a", "");
    link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
    link.download = `${figure.id}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  table.parentElement.before(save);
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
  return lines.map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",") + "\r\n").join("");
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (text) made.textContent = text;
  return made;
}
