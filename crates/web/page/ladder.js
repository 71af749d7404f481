// The ladder diagram of a flow: sender on the left, receiver on the right, time from top to bottom.

const TOP = 46;
const MOST_PACKETS = 400;
const FLIGHT_PIXELS = 58;
const APART_PIXELS = 11;
const LONGEST_GAP = 190;
const BREAK_PIXELS = 54;
const LINE_PIXELS = 12;
const LOST_AT = 0.55;

const escaped = (text) => String(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
const counted = (number, one, many = `${one}s`) => `${spaced(number)} ${number === 1 ? one : many}`;
const spaced = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const seconds = (value, digits = 3) => `${value.toFixed(digits)} s`;

/** Time axis of several flows: linear, except for long times without a packet of any flow. */
function axisOf(flows) {
  const shown = flows.flatMap((flow) => flow.packets.slice(0, MOST_PACKETS));
  const moments = shown.flatMap((packet) => [packet.sent_s, packet.ended_s ?? packet.sent_s]);
  for (const flow of flows) if (flow.sender_s !== null && flow.packets.length <= MOST_PACKETS) moments.push(flow.start_s + flow.sender_s);
  const times = [...new Set(moments)].sort((one, other) => one - other);
  if (!times.length) times.push(0);
  const flights = shown.filter((packet) => packet.fate === "arrived").map((packet) => packet.ended_s - packet.sent_s).sort((one, other) => one - other);
  const flight = flights[flights.length >> 1] || 0.05;
  const gaps = times.slice(1).map((time, index) => time - times[index]).filter((gap) => gap <= 3 * flight).sort((one, other) => one - other);
  const usual = FLIGHT_PIXELS / flight;
  const scale = gaps.length ? Math.min(Math.max(usual, APART_PIXELS / gaps[gaps.length >> 1]), 2.5 * usual) : usual;
  const longest = Math.max(LONGEST_GAP, 3 * flight * scale);
  const [known, places, breaks] = [[times[0]], [TOP], []];
  const y = (time) => {
    let after = known.findIndex((each) => each > time);
    if (after < 0) after = known.length;
    if (after > 0 && after < known.length && breaks.some((each) => each.from === known[after - 1]))
      return places[after - 1] + ((time - known[after - 1]) / (known[after] - known[after - 1])) * BREAK_PIXELS;
    const before = Math.max(after - 1, 0);
    return places[before] + (time - known[before]) * scale;
  };
  for (let index = 1; index < times.length; index += 1) {
    const [from, to] = [times[index - 1], times[index]];
    if ((to - from) * scale <= longest) continue;
    const top = y(from);
    known.push(from, to);
    places.push(top, top + BREAK_PIXELS);
    breaks.push({ from, to, top });
  }
  const time = (at) => {
    let after = places.findIndex((place) => place > at);
    if (after < 0) after = places.length;
    if (after > 0 && after < places.length && breaks.some((each) => each.from === known[after - 1]))
      return known[after - 1] + ((at - places[after - 1]) / BREAK_PIXELS) * (known[after] - known[after - 1]);
    const before = Math.max(after - 1, 0);
    return known[before] + (at - places[before]) / scale;
  };
  return { y, time, scale, flight, breaks, first: times[0], last: times.at(-1), height: y(times.at(-1)) + 40 };
}

/** Distance of two ticks in seconds, and the decimals of their labels. */
function tickOf(scale) {
  const exponent = Math.floor(Math.log10(90 / scale) + 1e-9);
  const found = [1, 2, 5, 10].map((factor) => factor * 10 ** exponent).find((step) => step * scale >= 60) ?? 10 ** (exponent + 1);
  return [found, Math.max(0, -Math.floor(Math.log10(found) + 1e-9))];
}

/** Bytes or control bits of a packet, in short. */
function labelOf(packet) {
  if (packet.control === "SYN") return packet.ack === null ? "SYN" : "SYN, ACK";
  if (packet.control === "RST") return "RST";
  if (packet.payload_bytes) return `${packet.seq}–${packet.seq + packet.payload_bytes - 1}${packet.control === "FIN" ? ", FIN" : ""}`;
  if (packet.control === "FIN") return "FIN";
  return `ack ${packet.ack}${packet.sack.length ? " SACK" : ""}`;
}

const FATES = {
  "dropped-loss": "is dropped", "dropped-buffer": "is dropped, because the buffer is full",
  "dropped-early": "is dropped early by the buffer's discipline", "in-network": "is in the network at the end of the run",
};

/** A packet as a sentence, for a screen reader and for the list. */
function sentenceOf(packet) {
  const from = packet.is_forward ? "sender" : "receiver";
  const what = packet.payload_bytes ? `bytes ${labelOf(packet)}` : labelOf(packet);
  const again = packet.is_again ? ", sent again" : "";
  const blocks = packet.sack.map(([start, end]) => `${start}–${end - 1}`).join(" and ");
  const end = packet.fate === "arrived" ? `arrives at ${seconds(packet.ended_s)}` : FATES[packet.fate];
  return `${seconds(packet.sent_s)}, ${from}: ${what}${blocks ? ` of ${blocks}` : ""}${again}, ${end}`;
}

/** SVG of a flow on a time axis that it may share. */
function ladderOf(flow, axis, width, { delayed, chosen, name }) {
  const [left, right] = [Math.min(150, Math.max(108, width * 0.3)), width - Math.min(104, Math.max(76, width * 0.22))];
  const packets = flow.packets.slice(0, MOST_PACKETS);
  const ends = Math.max(axis.first, ...packets.map((packet) => packet.ended_s ?? packet.sent_s));
  const parts = [];
  const [tick, digits] = tickOf(axis.scale);
  for (let number = Math.ceil(axis.first / tick - 1e-9); number <= axis.last / tick + 1e-9; number += 1) {
    const time = number * tick;
    const y = axis.y(time);
    if (axis.breaks.some((each) => each.top < y && y < each.top + BREAK_PIXELS)) {
      // Ticks within a break are left out, all at once.
      const over = axis.breaks.find((each) => each.top < y && y < each.top + BREAK_PIXELS);
      number = Math.max(number, Math.ceil(over.to / tick) - 1);
      continue;
    }
    parts.push(`<line class="grid" x1="44" x2="${width}" y1="${y.toFixed(1)}" y2="${y.toFixed(1)}"/><text class="tick" x="40" y="${(y + 4).toFixed(1)}" text-anchor="end">${time.toFixed(digits)}</text>`);
  }
  for (const { top, from, to } of axis.breaks)
    parts.push(`<rect class="break" x="0" width="${width}" y="${(top + 14).toFixed(1)}" height="${BREAK_PIXELS - 28}"/><text class="soft" x="6" y="${(top + BREAK_PIXELS / 2 + 4).toFixed(1)}">${seconds(to - from, 2)} without a packet</text>`);
  parts.push(`<text class="soft" x="${left}" y="20" text-anchor="middle">sender</text><text class="soft" x="${right}" y="20" text-anchor="middle">receiver</text>`);
  for (const x of [left, right]) parts.push(`<line class="end" x1="${x}" x2="${x}" y1="28" y2="${(axis.y(ends) + 10).toFixed(1)}"/>`);
  const lowest = { true: -Infinity, false: -Infinity };
  const causes = new Map(flow.repairs.flatMap((repair) => repair.retransmissions.map((each) => [each.packet, each.cause])));
  for (const packet of packets) {
    const lost = packet.fate !== "arrived" && packet.fate !== "in-network";
    const [from, to] = packet.is_forward ? [left, right] : [right, left];
    const top = axis.y(packet.sent_s);
    const share = packet.fate === "arrived" ? 1 : LOST_AT;
    const bottom = packet.fate === "arrived" ? axis.y(packet.ended_s) : top + LOST_AT * axis.flight * axis.scale;
    const x = from + (to - from) * share;
    const kind = lost ? "lost" : !packet.is_forward ? "ack" : packet.is_again ? "again" : "data";
    const place = `x1="${from}" y1="${top.toFixed(1)}" x2="${x.toFixed(1)}" y2="${bottom.toFixed(1)}"`;
    const label = lowest[packet.is_forward] = Math.max(top + 4, lowest[packet.is_forward] + LINE_PIXELS);
    const turn = Math.atan2(top - bottom, from - x);
    const head = lost
      ? `M${(x - 5).toFixed(1)} ${(bottom - 5).toFixed(1)}l10 10M${(x + 5).toFixed(1)} ${(bottom - 5).toFixed(1)}l-10 10`
      : [-0.43, 0.43].map((angle) => `M${x.toFixed(1)} ${bottom.toFixed(1)}l${(8 * Math.cos(turn + angle)).toFixed(1)} ${(8 * Math.sin(turn + angle)).toFixed(1)}`).join("");
    const cause = causes.get(packet.number);
    const by = delayed.get(packet.number);
    const aside = by ? ` +${(by / 1e6).toFixed(by < 1e7 ? 1 : 0)} ms` : "";
    const words_ = cause ? `<tspan class="again-text"> ${escaped(words.causes[cause])}</tspan>` : "";
    const text = packet.is_forward
      ? `<text x="${left - 7}" y="${label.toFixed(1)}" text-anchor="end">${labelOf(packet)}${aside}</text>${cause ? `<text class="again-text over" x="${left + 7}" y="${(top - 3).toFixed(1)}">${escaped(words.causes[cause])}</text>` : ""}`
      : `<text x="${right + 7}" y="${label.toFixed(1)}">${labelOf(packet)}${aside}${words_}</text>`;
    parts.push(
      `<g class="packet ${kind}" role="button" aria-pressed="${lost}" tabindex="${packet.number === chosen ? 0 : -1}" data-number="${packet.number}" aria-label="${escaped(sentenceOf(packet))}${by ? `, delayed by ${(by / 1e6).toFixed(1)} ms` : ""}">` +
      `<line class="target" ${place}/><line class="way" ${place}/><path class="head" d="${head}"/>${text}</g>`,
    );
  }
  if (flow.sender_s !== null && flow.packets.length <= MOST_PACKETS) {
    const y = axis.y(flow.start_s + flow.sender_s);
    parts.push(`<line class="done-line" x1="${left - 12}" x2="${left + 12}" y1="${y.toFixed(1)}" y2="${y.toFixed(1)}"/>`);
  }
  parts.push(`<line class="moment" x1="44" x2="${width}" y1="-9" y2="-9"/>`);
  return `<svg class="ladder" role="group" aria-label="${escaped(`Packets of ${name}`)}" width="${width}" height="${axis.height.toFixed(0)}" viewBox="0 0 ${width} ${axis.height.toFixed(0)}">${parts.join("")}</svg>`;
}
