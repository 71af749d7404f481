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

/** A scale in use remains while the best one differs by less than this factor. */
const SCALE_FACTOR = 1.3;

/**
 * Time axis of several flows: linear, except for long times without a packet of any flow. The scale of
 * an earlier axis remains if it is nearly the best one, so a drop does not move the packets before it.
 */
function axisOf(flows, earlier) {
  const shown = flows.flatMap((flow) => flow.packets.slice(0, MOST_PACKETS));
  const moments = shown.flatMap((packet) => [packet.sent_s, packet.ended_s ?? packet.sent_s]);
  for (const flow of flows) if (flow.sender_s !== null && flow.packets.length <= MOST_PACKETS) moments.push(flow.start_s + flow.sender_s);
  const times = [...new Set(moments)].sort((one, other) => one - other);
  if (!times.length) times.push(0);
  const flights = shown.filter((packet) => packet.fate === "arrived").map((packet) => packet.ended_s - packet.sent_s).sort((one, other) => one - other);
  const flight = flights[flights.length >> 1] || 0.05;
  const gaps = times.slice(1).map((time, index) => time - times[index]).filter((gap) => gap <= 3 * flight).sort((one, other) => one - other);
  const usual = FLIGHT_PIXELS / flight;
  const best = gaps.length ? Math.min(Math.max(usual, APART_PIXELS / gaps[gaps.length >> 1]), 2.5 * usual) : usual;
  const scale = earlier && Math.max(earlier / best, best / earlier) < SCALE_FACTOR ? earlier : best;
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
  const [first, last] = [times[0], times.at(-1)];
  /** Text that is equal if all times have the same places. */
  const key = JSON.stringify([scale, flight, first, breaks]);
  return { y, time, scale, flight, breaks, first, last, key, height: y(last) + 40 };
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

/** Ends of the drawing in pixels: the sender's line and the receiver's. */
const endsOf = (width) => [Math.min(150, Math.max(132, width * 0.3)), width - Math.min(104, Math.max(76, width * 0.22))];

/** Everything that belongs to no packet: ticks, breaks of the axis, both ends, the completion. */
function frameOf(flow, axis, width) {
  const [left, right] = endsOf(width);
  const packets = flow.packets.slice(0, MOST_PACKETS);
  const last = Math.max(axis.first, ...packets.map((packet) => packet.ended_s ?? packet.sent_s));
  const pieces = [];
  const add = (key, y, ...content) => pieces.push({ key, shape: ["g", { transform: `translate(0 ${y.toFixed(1)})` }, ...content] });
  const text = (content, attributes) => ["text", { class: "soft", ...attributes }, content];
  const [tick, digits] = tickOf(axis.scale);
  for (let number = Math.ceil(axis.first / tick - 1e-9); number <= axis.last / tick + 1e-9; number += 1) {
    const time = number * tick;
    const y = axis.y(time);
    const over = axis.breaks.find((each) => each.top < y && y < each.top + BREAK_PIXELS);
    if (over) {
      // Ticks within a break are left out, all at once.
      number = Math.max(number, Math.ceil(over.to / tick) - 1);
      continue;
    }
    const label = time.toFixed(digits);
    add(label, y, ["line", { class: "grid", x1: 44, x2: width }], text(label, { class: "tick", x: 40, y: 4, "text-anchor": "end" }));
  }
  for (const { top, from, to } of axis.breaks)
    add(`break ${from}`, top, ["rect", { class: "break", x: 0, width, y: 14, height: BREAK_PIXELS - 28 }],
      text(`${seconds(to - from, 2)} without a packet`, { x: 6, y: BREAK_PIXELS / 2 + 4 }));
  add("names", 20, text("sender", { x: left, "text-anchor": "middle" }), text("receiver", { x: right, "text-anchor": "middle" }));
  add("ends", 28, ...[left, right].map((x) => ["line", { class: "end", x1: x, x2: x, y2: (axis.y(last) - 18).toFixed(1) }]));
  if (flow.sender_s !== null && flow.packets.length <= MOST_PACKETS)
    add("done", axis.y(flow.start_s + flow.sender_s), ["line", { class: "done-line", x1: left - 12, x2: left + 12 }]);
  return pieces;
}

/** Label of a packet, and its arrow as the parts of two paths: the way, and the head or the cross. */
function arrowOf(packet, width, { top, height, labelTop, cause, by, isChosen }) {
  const [left, right] = endsOf(width);
  const lost = packet.fate !== "arrived" && packet.fate !== "in-network";
  const [from, to] = packet.is_forward ? [left, right] : [right, left];
  const x = from + (to - from) * (packet.fate === "arrived" ? 1 : LOST_AT);
  const end = `M${x.toFixed(1)} ${(top + height).toFixed(1)}`;
  const turn = Math.atan2(-height, from - x);
  const head = lost
    ? `${end}m-5 -5l10 10m0 -10l-10 10`
    : [-0.43, 0.43].map((angle) => `${end}l${(8 * Math.cos(turn + angle)).toFixed(1)} ${(8 * Math.sin(turn + angle)).toFixed(1)}`).join("");
  const kind = lost ? "lost" : !packet.is_forward ? "ack" : packet.is_again ? "again" : "data";
  const label = labelOf(packet);
  const aside = by ? ` +${(by / 1e6).toFixed(by < 1e7 ? 1 : 0)} ms` : "";
  const reason = cause ? words.causes[cause] : "";
  // The reason of an acknowledgment follows its label; that of data is beyond the line of the sender.
  const beside = packet.is_forward ? { class: "again-text over", x: 14, y: (top - labelTop - 3).toFixed(0) } : { class: "again-text" };
  return {
    key: `${packet.is_forward} ${label} ${packet.is_again}`,
    number: packet.number, kind, from, x, top, height,
    way: `M${from} ${top.toFixed(1)}L${x.toFixed(1)} ${(top + height).toFixed(1)}`,
    head,
    // The transform is that of a group: a new transform of a text costs a layout of its letters.
    shape: ["g", {
      "data-number": packet.number,
      tabindex: isChosen ? 0 : -1,
      role: "button",
      class: `packet ${packet.is_forward ? "forward " : ""}${kind}`,
      transform: `translate(${packet.is_forward ? left - 7 : right + 7} ${labelTop.toFixed(0)})`,
      "aria-pressed": String(lost),
      "aria-label": `${sentenceOf(packet)}${by ? `, delayed by ${(by / 1e6).toFixed(1)} ms` : ""}`,
    }, ["text", {}, label + aside, ...(cause ? [["tspan", beside, packet.is_forward ? reason : ` ${reason}`]] : [])]],
  };
}

/** Piece of each packet. That of an earlier drawing remains if nothing about it has changed. */
function arrowsOf(flow, axis, width, { delayed, chosen }, drawn) {
  const lowest = { true: -Infinity, false: -Infinity };
  const causes = new Map(flow.repairs.flatMap((repair) => repair.retransmissions.map((each) => [each.packet, each.cause])));
  return flow.packets.slice(0, MOST_PACKETS).map((packet) => {
    const top = axis.y(packet.sent_s);
    const height = packet.fate === "arrived" ? axis.y(packet.ended_s) - top : LOST_AT * axis.flight * axis.scale;
    const labelTop = lowest[packet.is_forward] = Math.max(top + 4, lowest[packet.is_forward] + LINE_PIXELS);
    const place = { top, height, labelTop, cause: causes.get(packet.number), by: delayed.get(packet.number), isChosen: packet.number === chosen };
    const known = drawn.get(packet);
    if (known?.width === width && Object.keys(place).every((name) => place[name] === known.place[name])) return known.piece;
    const piece = arrowOf(packet, width, place);
    drawn.set(packet, { width, place, piece });
    return piece;
  });
}

/** The height of the SVG element is a multiple of this. */
const HEIGHT_STEP = 2000;

/** Kinds of arrows, in the order in which they are drawn. */
const KINDS = ["ack", "data", "again", "lost"];

/**
 * A drawing of a flow. The parts that are equal to those of the last flow remain in the document. All
 * arrows of a kind are two paths, because the browser computes the style of each element.
 */
class Ladder {
  constructor(place) {
    const arrows = KINDS.map((kind) => `<path class="way ${kind}"/><path class="head ${kind}"/>`).join("");
    place.innerHTML = `<svg class="ladder" role="group"><g></g><g class="arrows">${arrows}<path/><path/></g><g></g><line class="moment" x1="44" y1="-9" y2="-9"/></svg>`;
    this.place = place;
    this.svg = place.firstChild;
    const [frame, arrowsElement, labels, line] = this.svg.children;
    const paths = [...arrowsElement.children];
    this.frame = new Pieces(frame);
    this.labels = new Pieces(labels);
    this.line = line;
    this.paths = new Map(KINDS.map((kind, index) => [kind, paths.slice(2 * index, 2 * index + 2)]));
    /** Emphasized packets: the one under the pointer, and the one with the focus of the keyboard. */
    this.marks = { near: { number: null, path: paths.at(-2) }, focused: { number: null, path: paths.at(-1) } };
    /** Pieces by packet. */
    this.drawn = new WeakMap();
    this.arrows = [];
  }

  show(flow, axis, width, { name, ...marks }) {
    // A change of the SVG element's own size would lay out all its texts again, so the place around it clips it.
    const height = HEIGHT_STEP * Math.ceil(axis.height / HEIGHT_STEP);
    this.place.style.height = `${axis.height.toFixed(0)}px`;
    this.attributes = changed(this.svg, { width, height, "aria-label": `Packets of ${name}` }, this.attributes);
    this.line.setAttribute("x2", width);
    this.frame.show(frameOf(flow, axis, width));
    const last = this.last;
    this.last = { flow, key: axis.key, width, chosen: marks.chosen };
    if (!last || Object.keys(last).some((each) => last[each] !== this.last[each])) this.showPackets(arrowsOf(flow, axis, width, marks, this.drawn));
  }

  /** Draws the arrows and labels of all packets. */
  showPackets(arrows) {
    this.arrows = arrows;
    for (const [kind, [way, head]] of this.paths) {
      const those = arrows.filter((each) => each.kind === kind);
      way.setAttribute("d", those.map((each) => each.way).join(""));
      head.setAttribute("d", those.map((each) => each.head).join(""));
    }
    this.labels.show(arrows);
    for (const name in this.marks) this.emphasize(name, this.marks[name].number);
  }

  /** Emphasizes a packet as `near` or `focused`, instead of the last one; none with `null`. */
  emphasize(name, number) {
    const mark = this.marks[name];
    if (number === null && mark.number === null) return;
    const piece = this.arrows.find((each) => each.number === number);
    mark.element?.classList.remove(name);
    piece?.element.classList.add(name);
    mark.path.setAttribute("class", `${name} ${piece?.kind}`);
    mark.path.setAttribute("d", piece?.way ?? "");
    Object.assign(mark, { number, element: piece?.element });
  }

  /** Label of the packet whose arrow is within a distance of a place of the drawing, if there is one. */
  nearest(x, y, most) {
    let [nearest, least] = [null, most];
    for (const { element, from, x: to, top, height } of this.arrows) {
      const [across, down] = [to - from, y - top];
      const along = Math.min(Math.max(((x - from) * across + down * height) / (across ** 2 + height ** 2), 0), 1);
      const distance = Math.hypot(x - from - along * across, down - along * height);
      if (distance < least) [nearest, least] = [element, distance];
    }
    return nearest;
  }

  /** Moves the line of the moment that the state panel shows. */
  mark(y) {
    this.line.setAttribute("transform", `translate(0 ${(y + 9).toFixed(1)})`);
  }
}
