// The state of both senders at the time under the pointer.

/** Shape of the retransmission queue: boxes with the marks of the scoreboard. */
function queueOf(queue) {
  if (!queue.length) return ["p", { class: "soft" }, "The retransmission queue is empty."];
  const box = (segment) => {
    const marks = [segment.reported && "reported by SACK", segment.lost && "counts as lost", segment.resent && "sent again"].filter(Boolean);
    const kind = segment.reported ? "reported" : segment.lost && !segment.resent ? "lost" : segment.resent ? "resent" : "sent";
    const text = `${segment.seq}–${segment.seq + segment.length - 1}${marks.length ? `: ${marks.join(", ")}` : ""}`;
    return ["li", { class: kind, title: text }, ["span", {}, text]];
  };
  return ["ol", { class: "scoreboard", "aria-label": "Retransmission queue" }, ...queue.map(box)];
}

const bytes = (value, mss) => `${counted(value, "byte")}${mss ? ` (${(value / mss).toFixed(1)} MSS)` : ""}`;

/** Shapes of the state of a sender. */
function stateOf(name, moment, at, mss) {
  const rows = [
    ["congestion window", bytes(moment.cwnd_bytes, mss)],
    ["slow start threshold", moment.ssthresh_bytes === null ? "none yet" : bytes(moment.ssthresh_bytes, mss)],
    ["in flight", `${bytes(moment.flight_bytes)}; ${spaced(moment.pipe_bytes)} count against the window`],
    ["SND.UNA, SND.NXT", `${moment.una}, ${moment.nxt}`],
    ["state", `${moment.congestion ?? (moment.recovering ? "fast recovery" : "open")}${moment.duplicates ? `, ${counted(moment.duplicates, "duplicate ACK")}` : ""}`],
  ];
  for (const timer of moment.timers) {
    if (timer.name === "end of the state") continue;
    const left = timer.at_s - at;
    rows.push([`${timer.is_sender ? "" : "receiver: "}${timer.name}`, `at ${seconds(timer.at_s)}${left > 0 ? `, in ${(1000 * left).toFixed(1)} ms` : ""}`]);
  }
  if (moment.rack && moment.rack.rtt_s > 0)
    rows.push(["RACK", `RTT ${(1000 * moment.rack.rtt_s).toFixed(1)} ms, reordering window ${(1000 * moment.rack.reordering_window_s).toFixed(1)} ms, newest delivered segment sent at ${seconds(moment.rack.xmit_s)}`]);
  return [["h3", {}, name], ["dl", {}, ...rows.flatMap(([key, value]) => [["dt", {}, key], ["dd", {}, value]])], queueOf(moment.queue)];
}
