// The view of a capture file, which a worker analyses.

let connection = null;
let zoom = [0, 1];

function openCapture(file) {
  connection = null;
  $("#capture-result").innerHTML = "";
  $("#capture-progress").textContent = `Reading ${file.name}.`;
  problem(null);
  delete document.documentElement.dataset.captureDone;
  worker.postMessage({ kind: "open", file });
}

const cellOf = (value, digits = 3) => (value === null ? "–" : value.toFixed(digits));

function takeAnalysis({ name, size, wall_s, found }) {
  $("#capture-progress").textContent = found.is_done
    ? `${name}: ${counted(found.packets, "packet")} in ${found.duration_s.toFixed(1)} s, ${counted(found.connections, "connection")}. Analysed in ${wall_s.toFixed(2)} s.`
    : `${spaced(found.packets)} packets read, ${Math.min(99, Math.floor((100 * found.offset_bytes) / size))} % of the file.`;
  if (!found.is_done) return;
  const parts = [];
  if (found.damage) parts.push(`<p>${escaped(found.damage)}</p>`);
  const episodes = found.causes.reduce((sum, cause) => sum + cause.episodes, 0);
  if (!episodes) parts.push("<p>No loss episode.</p>");
  else {
    const share = found.payload_bytes ? (100 * found.retransmitted_bytes) / found.payload_bytes : 0;
    parts.push(`<p>${counted(episodes, "loss episode")}; ${share.toFixed(2)} % of the bytes were sent again.</p>`);
    parts.push("<h3>First repair of each episode</h3>", tableOf("Causes of first repairs", [
      ["first repair by", "episodes", "at the tail", "spurious", "median s", "p99 s", "max s", "total s"],
      ...found.causes.map((each) => [
        words.causes[each.cause], spaced(each.episodes), spaced(each.at_the_tail), spaced(each.spurious),
        cellOf(each.median_s), cellOf(each.p99_s), cellOf(each.max_s), each.total_s.toFixed(3),
      ]),
    ]));
    parts.push("<h3>Longest episodes</h3>", tableOf("Longest episodes", [
      ["first repair by", "delay s", "at s", "connection", "packet of the repair", "segments after"],
      ...found.episodes.slice(0, 20).map((each) => [
        words.causes[each.cause], each.delay_s.toFixed(3), each.lost_s.toFixed(3), each.flow, each.repaired_frame, each.following,
      ]),
    ]));
  }
  parts.push("<h3>Connections</h3>");
  if (found.connections > found.flows.length) parts.push(`<p class="note">The table has ${found.flows.length} of ${spaced(found.connections)} connections: those with the longest episodes, then those with the most data.</p>`);
  parts.push('<div class="long-table">', tableOf("Connections", [
    ["", "from", "to", "start s", "duration s", "bytes", "sent again", "longest loss s"],
    ...found.flows.map((each) => [
      `<button type="button" data-connection="${each.flow}" aria-label="Show connection ${each.flow}">${each.flow}</button>`,
      escaped(each.source), escaped(each.destination), each.start_s.toFixed(3), each.duration_s.toFixed(3),
      spaced(each.payload_bytes), spaced(each.retransmitted_bytes), cellOf(each.delay_s),
    ]),
  ], [1, 2]), "</div>", '<div id="connection"></div>');
  $("#capture-result").innerHTML = parts.join("");
  document.documentElement.dataset.captureDone = wall_s.toFixed(3);
  if (found.flows.length) worker.postMessage({ kind: "connection", flow: found.flows[0].flow });
}

function takeConnection(found) {
  connection = found;
  zoom = [0, 1];
  drawConnection();
}

/** Time-sequence plot of the connection; `zoom` has the visible part of its time axis. */
function drawConnection() {
  const place = $("#connection");
  if (!place || !connection) return;
  const { segments, acknowledgments, sack, again } = connection;
  const all = [...segments, ...acknowledgments];
  const end = all.reduce((most, each) => Math.max(most, each[0]), 0.001);
  const [low, high] = zoom.map((share) => share * end);
  const visible = (points) => points.filter(([time]) => time >= low && time <= high);
  const seen = visible(segments).length ? visible(segments) : visible(acknowledgments);
  const bottom = seen.reduce((least, each) => Math.min(least, each[1]), Infinity);
  const top = seen.reduce((most, each) => Math.max(most, each[2]), -Infinity);
  const ends = bottom < top ? [bottom, top] : [0, 1];
  const causes = [...new Set(again.map((each) => each.cause))];
  const margin = 0.04 * (ends[1] - ends[0]);
  const chart = chartOf({
    title: `Time-sequence plot of connection ${connection.flow}`, width: Math.max(300, place.clientWidth),
    x: { low, high, label: "time, s" }, y: { low: ends[0] - margin, high: ends[1] + margin },
    series: [
      { kind: "step", color: "c0", points: acknowledgments.map(([time, , limit]) => [time, limit]) },
      { kind: "step", color: "c4", points: acknowledgments },
      { kind: "spans", color: "c2", points: segments },
      { kind: "spans", color: "c3", points: sack },
      ...causes.map((cause, index) => ({ kind: "spans", color: `bold ${["c1", "c6", "c7", "c5"][index % 4]}`, points: again.filter((each) => each.cause === cause).map((each) => [each.at_s, each.first, each.last]) })),
    ],
  });
  const key = (color, text) => `<li><span class="key ${color}">■</span> ${escaped(text)}</li>`;
  const legend = [key("c2", "segments"), key("c4", "acknowledged"), key("c0", "end of the advertised window"), sack.length ? key("c3", "SACK blocks") : "",
    ...causes.map((cause, index) => key(["c1", "c6", "c7", "c5"][index % 4], `sent again: ${words.causes[cause]}`))];
  const left = connection.left_out ? `<p class="note">${counted(connection.left_out, "packet is", "packets are")} left out.</p>` : "";
  place.innerHTML =
    `<h3>Connection ${connection.flow}</h3><ul class="legend">${legend.join("")}</ul><p class="quick" role="group" aria-label="Part of the time axis">` +
    `<button type="button" data-zoom="in">larger</button> <button type="button" data-zoom="out">smaller</button> <button type="button" data-zoom="left">earlier</button> <button type="button" data-zoom="right">later</button> <button type="button" data-zoom="all">all</button></p>` +
    `<p class="upward">bytes of data</p>${chart}${left}`;
}

function zoomBy(kind, center = (zoom[0] + zoom[1]) / 2) {
  const span = zoom[1] - zoom[0];
  const [from, to] = {
    in: [center - (center - zoom[0]) / 1.6, center + (zoom[1] - center) / 1.6], out: [center - (center - zoom[0]) * 1.6, center + (zoom[1] - center) * 1.6],
    left: [zoom[0] - 0.3 * span, zoom[1] - 0.3 * span], right: [zoom[0] + 0.3 * span, zoom[1] + 0.3 * span], all: [0, 1],
  }[kind];
  const width = Math.min(Math.max(to - from, 1e-5), 1);
  const start = Math.min(Math.max(from, 0), 1 - width);
  zoom = [start, start + width];
  drawConnection();
}

function listenToCaptures() {
  const zone = $("#drop-zone");
  $("#capture-file").addEventListener("change", (event) => event.target.files[0] && openCapture(event.target.files[0]));
  for (const name of ["dragenter", "dragover"])
    document.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
  document.addEventListener("dragleave", () => zone.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (!event.dataTransfer.files[0]) return;
    show("capture");
    openCapture(event.dataTransfer.files[0]);
  });
  $("#capture-result").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.connection) {
      worker.postMessage({ kind: "connection", flow: Number(button.dataset.connection) });
      $("#connection").scrollIntoView({ block: "nearest" });
    } else if (button?.dataset.zoom) {
      zoomBy(button.dataset.zoom);
      $(`[data-zoom="${button.dataset.zoom}"]`).focus();
    }
  });
  $("#capture-result").addEventListener("wheel", (event) => {
    const chart = event.target.closest(".chart");
    if (!chart || !event.ctrlKey) return;
    event.preventDefault();
    const box = chart.getBoundingClientRect();
    zoomBy(event.deltaY < 0 ? "in" : "out", zoom[0] + ((event.clientX - box.left) / box.width) * (zoom[1] - zoom[0]));
  }, { passive: false });
}
