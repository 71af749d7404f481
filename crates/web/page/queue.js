// The view of many flows at a bottleneck, simulated in a worker and drawn while it runs.

const COLORS = ["c1", "c2", "c4", "c7"];
let worker = null;
let rows = null;

function freshRows() {
  return { queue: [], flows: [], duration_s: 1, last: null };
}

function runQueue() {
  if (!worker) return;
  rows = freshRows();
  const scenario = queueScenario();
  worker.postMessage({ kind: "run", scenario, seed: given?.seed ?? settings.qseed, speed: Number($("[name=qspeed]").value) });
  $("#queue-progress").textContent = "The run begins.";
  problem(null);
}

function takeRows(message) {
  if (!rows) return;
  rows.duration_s = message.duration_s;
  rows.last = message;
  const observed = message.sample_of[0] && queueScenario().link[0].name;
  message.sample_s.forEach((time, index) => {
    if (message.sample_quantity[index] === "queue_bytes" && message.sample_of[index] === observed) rows.queue.push([time, message.sample_value[index] / 1000]);
  });
  message.flow_sender.forEach((sender, index) => {
    rows.flows.push({
      name: `${message.flow_workload[index]}: ${sender}`, size: message.flow_size_bytes[index], time: message.flow_sender_s[index],
      timeouts: message.flow_timeouts[index], fast: message.flow_fast_retransmits[index],
    });
  });
  drawQueue();
}

const quantileOf = (sorted, share) => (sorted.length ? sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] : null);

function drawQueue() {
  const place = $("#queue-result");
  const { last, duration_s } = rows;
  const width = Math.max(300, Math.floor((place.clientWidth - (place.clientWidth > 900 ? 24 : 0)) / (place.clientWidth > 900 ? 2 : 1)));
  const names = [...new Set(rows.flows.map((flow) => flow.name))].sort();
  const color = (name) => COLORS[names.indexOf(name) % COLORS.length];
  const complete = rows.flows.filter((flow) => flow.time !== null && flow.size !== null);
  const times = complete.map((flow) => flow.time);
  const sizes = complete.map((flow) => flow.size);
  const least = (values, other) => values.reduce((one, each) => Math.min(one, each), Infinity) || other;
  const most = (values) => values.reduce((one, each) => Math.max(one, each), 0);
  const end = Math.max(duration_s, last.now_s);
  const top = Math.max(most(rows.queue.map((point) => point[1])) * 1.1, 1);
  const queue = chartOf({
    title: "Queue at the bottleneck over time", width, x: { low: 0, high: end, label: "time, s" }, y: { low: 0, high: top },
    series: [{ kind: "line", color: "c2", points: rows.queue }],
  });
  const scatter = complete.length
    ? chartOf({
        title: "Completion time of each flow by its size", width,
        x: { low: 0.8 * least(sizes, 1), high: 1.25 * most(sizes), log: true, label: "size, bytes" },
        y: { low: 0.8 * least(times, 0.001), high: 1.25 * most(times), log: true },
        series: names.map((name) => ({ kind: "dots", color: color(name), points: complete.filter((flow) => flow.name === name).slice(-4000).map((flow) => [flow.size, flow.time]) })),
      })
    : "";
  const table = [["flows", "complete", "mean s", "median s", "p99 s", "timeouts", "fast retransmits"]];
  for (const name of names) {
    const own = rows.flows.filter((flow) => flow.name === name);
    const sorted = own.filter((flow) => flow.time !== null).map((flow) => flow.time).sort((one, other) => one - other);
    const sum = (values) => values.reduce((one, other) => one + other, 0);
    const cell = (value) => (value === null || Number.isNaN(value) ? "–" : value.toFixed(3));
    table.push([
      `<span class="key ${color(name)}">■</span> ${escaped(name)}`, spaced(sorted.length), cell(sorted.length ? sum(sorted) / sorted.length : null),
      cell(quantileOf(sorted, 0.5)), cell(quantileOf(sorted, 0.99)), spaced(sum(own.map((flow) => flow.timeouts))), spaced(sum(own.map((flow) => flow.fast))),
    ]);
  }
  const link = last.links[0];
  const share = link.offered_packets ? (100 * link.dropped_packets) / link.offered_packets : 0;
  $("#queue-progress").textContent =
    `${last.is_done ? "Complete" : "Running"}: ${last.now_s.toFixed(1)} s simulated in ${last.wall_s.toFixed(2)} s, ${spaced(last.events)} events, ${counted(last.active_flows, "active flow")}.`;
  place.innerHTML =
    `<div class="pair"><figure><figcaption><h3>Queue at the bottleneck</h3><p class="upward">kB</p></figcaption>${queue}</figure>` +
    `<figure><figcaption><h3>Completion times</h3><p class="upward">s</p></figcaption>${scatter || '<p class="soft">No flow is complete.</p>'}</figure></div>` +
    `<p>Link <code>${escaped(link.link)}</code>: utilisation ${(100 * link.utilisation).toFixed(1)} %, ${share.toFixed(2)} % of ${spaced(link.offered_packets)} packets dropped by the queue, ${spaced(link.lost_packets)} lost on the line.</p>` +
    tableOf("Completion times by sender", table);
  document.documentElement.dataset.queueDone = String(last.is_done);
  document.documentElement.dataset.queueWall = last.wall_s.toFixed(3);
}
