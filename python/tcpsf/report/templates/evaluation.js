"use strict";
// Everything that is shown comes from the table below each chart: a row is a place on the horizontal axis.
for (const figure of document.querySelectorAll("figure")) enliven(figure);

function enliven(figure) {
  const plot = figure.querySelector(".plot");
  const chart = plot.querySelector(".chart");
  const guide = chart.querySelector(".guide");
  const table = figure.querySelector("table");
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows].filter((row) => row.dataset.x);
  const off = new Set();
  const readout = element("div", "readout");
  let shown = -1;

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
    guide.setAttribute("x1", `${place}%`);
    guide.setAttribute("x2", `${place}%`);
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
    const right = place < 50;
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
    const place = (100 * (event.clientX - box.left)) / box.width;
    if (place < -4 || place > 104) return hide();
    const far = rows.map((row) => Math.abs(Number(row.dataset.x) - place));
    show(far.indexOf(Math.min(...far)));
  }

  const keys = {
    ArrowRight: () => show(shown + 1),
    ArrowLeft: () => show(shown < 0 ? rows.length - 1 : shown - 1),
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

// A column "value ±interval" becomes two.
function csv(table) {
  const lines = [...table.rows].map((row) =>
    [...row.cells].flatMap((cell, column) => {
      const [value, spread = ""] = cell.textContent.split(" ±");
      if (!table.tHead.rows[0].cells[column].hasAttribute("data-ours")) return [value];
      return row.parentElement === table.tHead ? [value, `${value} ±`] : [value.replace("–", ""), spread];
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
