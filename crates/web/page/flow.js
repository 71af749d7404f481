// The view of one flow, by two senders side by side.

const SIDES = ["a", "b"];
const VIEWS = { a: 0, b: 1 };
/** View of the module for flows that are not drawn. */
const SPARE_VIEW = 2;
/** Number of drops after which the browser has compiled most of what a redraw calls. */
const WARM_DROPS = 20;
/** Largest distance of the pointer from the packet that it chooses. */
const MOST_PIXELS = 9;
/** Answers of the module by side; the number of the packet that the keyboard reaches. */
const flows = {};
const chosen = { a: 0, b: 0 };
/** Drawings by side. */
const ladders = {};
let client = null;
let axis = null;
let lastMoment = null;

const sideElement = (side) => $(`.side[data-side="${side}"]`);
/** Whether the page is in a frame of another one, such as a lesson. */
const isEmbedded = window.parent !== window;
const shownSides = () => (given ? ["a"] : SIDES);

function problem(found) {
  const place = $("#problem");
  place.hidden = !found;
  place.textContent = found ? `${found.message ?? found.error}${found.hint ? ` (hint: ${found.hint})` : ""}` : "";
}

/** Simulates one side with edits. */
function simulated(side, edits, view = VIEWS[side]) {
  const request = { do: "flow", view, scenario: flowScenario(side), seed: given?.seed ?? 1, edits };
  if (!given) return client.ask(request);
  if (settings.flow !== "") request.flow = Number(settings.flow);
  else Object.assign(request, { index: settings.index }, settings.workload ? { workload: settings.workload } : {});
  const found = client.ask(request);
  // The number in the run only chooses the flow; the controls have its number in the workload.
  if (settings.flow !== "" && found.workload !== null) {
    Object.assign(settings, { flow: "", workload: found.workload, index: found.index });
    showSettings();
  }
  return found;
}

/** Simulates and draws the sides again. */
function redraw(sides = shownSides()) {
  const began = performance.now();
  try {
    for (const side of sides) flows[side] = simulated(side, editsOf(side));
    problem(null);
  } catch (found) {
    problem(found);
    return;
  }
  draw();
  writeFragmentSoon();
  document.documentElement.dataset.redrawMs = (performance.now() - began).toFixed(2);
}

function nameOf(side) {
  if (given) return flows[side].sender || given.scenario.name;
  const remedy = settings[`r${side}`];
  return `${SENDERS[settings[side]].name}${remedy === "none" ? "" : `, with ${REMEDIES[remedy][0].split(":")[0]}`}`;
}

/** Width of a drawing in pixels; measured when the window changes, because measuring costs a layout. */
let drawingWidth = 0;

function measureWidth() {
  drawingWidth = Math.max(300, Math.floor(sideElement("a").clientWidth));
}

/** Element of a side, with its parts. */
function partsOf(side) {
  const element = sideElement(side);
  if (!element.firstChild) {
    element.innerHTML =
      '<h2></h2><p class="note"><code></code></p><div class="outcome"></div><div class="drawing"></div>' +
      '<p class="save-buttons"><button type="button" data-save="toml">Save the scenario (TOML)</button> <button type="button" data-save="pcapng">Save the capture (pcapng)</button></p>' +
      '<details class="list"><summary></summary><ol start="0"></ol></details>';
    $("details", element).addEventListener("toggle", () => fillList(element, flows[side]));
    ladders[side] = new Ladder($(".drawing", element));
  }
  return element;
}

function draw() {
  const sides = shownSides();
  axis = axisOf(sides.map((side) => flows[side]), axis?.scale);
  const focused = document.activeElement?.closest?.(".packet");
  const again = focused && [focused.closest(".side").dataset.side, focused.dataset.number];
  for (const side of SIDES) sideElement(side).hidden = !sides.includes(side);
  if (!drawingWidth) measureWidth();
  for (const side of sides) {
    const flow = flows[side];
    if (!flow.packets.some((packet) => packet.number === chosen[side])) chosen[side] = 0;
    const edits = editsOf(side);
    const delayed = new Map(flow.packets.flatMap((packet) => {
      const found = edits.delays.find((each) => each.link === packet.link && each.position === packet.position);
      return found ? [[packet.number, found.by_ns]] : [];
    }));
    const element = partsOf(side);
    fill($("h2", element), nameOf(side));
    fill($("code", element), flow.sender);
    fill($(".outcome", element), ...outcomeOf(flow));
    ladders[side].show(flow, axis, drawingWidth, { delayed, chosen: chosen[side], name: nameOf(side) });
    fill($("summary", element), `${counted(flow.packets.length, "packet")} as a list`);
    fillList(element, flow);
  }
  // The element with the focus may have become that of another packet.
  if (again && document.activeElement?.dataset?.number !== again[1]) $(`.side[data-side="${again[0]}"] .packet[data-number="${again[1]}"]`)?.focus({ preventScroll: true });
  $("#compared").textContent = comparison();
  const repaired = sides.flatMap((side) => flows[side].repairs.map((repair) => repair.repaired_s));
  const at = lastMoment ?? (repaired.length ? Math.min(...repaired) : axis.first);
  showState(at);
}

/** Text of the packets, if the list is open. */
function fillList(element, flow) {
  if (!$("details", element).open) return;
  fill($("ol", element), ...flow.packets.slice(0, MOST_PACKETS).map((packet) => ["li", { value: packet.number }, sentenceOf(packet)]));
}

/** Shapes with the completion, and what repaired each loss, in words. */
function outcomeOf(flow) {
  const strong = (text) => ["strong", {}, text];
  if (!flow.packets.length)
    return [["p", {}, flow.is_cut ? "The flow does not start in the part of the run that the page simulates; choose an earlier one." : "The run has no such flow."]];
  const done = flow.sender_s === null
    ? ["The flow is not complete."]
    : ["Complete after ", strong(seconds(flow.sender_s)), `, with ${counted(flow.segments, "data segment")}.`];
  if (flow.packets.length > MOST_PACKETS || flow.is_cut) done.push(" ", ["span", { class: "soft" }, `The diagram has the first ${MOST_PACKETS} packets.`]);
  const repairs = flow.repairs.map((repair) => {
    const lost = flow.packets.find((packet) => packet.number === repair.lost);
    const name = !lost ? "A segment" : lost.control === "SYN" ? "The SYN" : lost.payload_bytes ? `The segment ${labelOf(lost)}` : `The ${labelOf(lost)}`;
    const was = lost && lost.fate === "arrived" ? "arrived, but was sent again" : FATES[lost?.fate] ?? "is lost";
    const more = repair.retransmissions.length > 1 ? ` ${counted(repair.retransmissions.length, "segment")} are sent again.` : "";
    return ["li", {}, `${name}, sent at ${seconds(repair.lost_s)}, ${was}. Repaired by `, strong(words.causes[repair.cause]),
      ` at ${seconds(repair.repaired_s)}, ${seconds(repair.delay_s)} after it was sent.${more}${repair.is_spurious ? " The repair was not necessary." : ""}`];
  });
  const found = [["p", {}, ...done]];
  const dropped = flow.packets.filter((packet) => packet.fate.startsWith("dropped")).length;
  if (repairs.length) found.push(["ul", {}, ...repairs]);
  else if (dropped) found.push(["p", {}, `${counted(dropped, "packet is", "packets are")} dropped, and nothing needs a repair.`]);
  return found;
}

function comparison() {
  if (given) return "";
  const [a, b] = SIDES.map((side) => flows[side].sender_s);
  if (a === null || b === null) return "";
  const gap = Math.abs(a - b);
  if (gap < 0.0005) return "Both flows take the same time.";
  return `The ${a < b ? "left" : "right"} flow is complete ${seconds(gap)} earlier (${seconds(Math.min(a, b))} against ${seconds(Math.max(a, b))}).`;
}

function showState(at) {
  lastMoment = at;
  const sides = shownSides();
  const panel = $("#state");
  if (!panel.firstChild) {
    // On a phone or in a frame the panel would cover the drawing, so it begins closed.
    const open = isEmbedded || matchMedia("(max-width: 30rem), (max-height: 30rem)").matches ? "" : " open";
    panel.innerHTML = `<details${open}><summary></summary><div class="states"><section></section><section></section></div></details>`;
  }
  fill($("summary", panel), `State at ${seconds(at, 4)}`);
  const sections = panel.querySelectorAll("section");
  sections[1].hidden = sides.length < 2;
  for (const [index, side] of sides.entries()) {
    let state;
    try {
      state = stateOf(nameOf(side), client.ask({ do: "moment", view: VIEWS[side], at_s: at }), at, given ? 0 : settings.mss);
    } catch (found) {
      state = [["p", {}, found.message]];
    }
    fill(sections[index], ...state);
    ladders[side].mark(axis.y(at));
  }
}

const packetOf = (element) => {
  const side = element.closest(".side").dataset.side;
  return [side, flows[side].packets.find((packet) => packet.number === Number(element.dataset.number))];
};

/** Label of the packet under the pointer, or with the nearest arrow. */
function elementAt(event) {
  const drawing = event.target.closest(".ladder");
  if (!drawing) return null;
  const label = event.target.closest(".packet");
  if (label) return label;
  const box = drawing.getBoundingClientRect();
  return ladders[drawing.closest(".side").dataset.side].nearest(event.clientX - box.left, event.clientY - box.top, MOST_PIXELS);
}

const isAt = (packet) => (each) => each.link === packet.link && each.position === packet.position;

function toggleDrop(side, packet) {
  const edits = editsOf(side);
  const drops = edits.drops.some(isAt(packet)) ? edits.drops.filter((each) => !isAt(packet)(each)) : [...edits.drops, { link: packet.link, position: packet.position }];
  setEdits(side, { drops, delays: edits.delays.filter((each) => !isAt(packet)(each)) });
  redraw([side]);
}

function delayBy(side, packet, by_ns) {
  if (!packet.is_single_hop || packet.fate !== "arrived") return;
  const edits = editsOf(side);
  const others = edits.delays.filter((each) => !isAt(packet)(each));
  const rounded = 100_000 * Math.round(Math.min(by_ns, 60e9) / 100_000);
  setEdits(side, { drops: edits.drops, delays: rounded > 0 ? [...others, { link: packet.link, position: packet.position, by_ns: rounded }] : others });
  redraw([side]);
}

const delayOf = (side, packet) => editsOf(side).delays.find(isAt(packet))?.by_ns ?? 0;

/** Drops on each side the packet that a quick choice names, in the flow without losses. */
function dropOnBoth(which) {
  for (const side of shownSides()) {
    setEdits(side, { drops: [], delays: [] });
    if (which === "none") continue;
    const { packets } = simulated(side, {}, SPARE_VIEW);
    const data = packets.filter((packet) => packet.is_forward && packet.payload_bytes);
    const packet = {
      syn: packets.find((each) => each.control === "SYN"), first: data[0], middle: data[data.length >> 1], last: data.at(-1),
    }[which];
    if (packet) setEdits(side, { drops: [{ link: packet.link, position: packet.position }], delays: [] });
  }
  lastMoment = null;
  redraw();
}

function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function saveFlow(side, kind) {
  if (kind === "toml") save(`playground-${side}.toml`, client.ask({ do: "toml", scenario: flows[side].scenario }).text, "text/plain");
  else save(`playground-${side}.pcapng`, client.capture(VIEWS[side]), "application/octet-stream");
}

/**
 * Draws drops outside the document while the browser is idle. It compiles functions when they are called
 * often, so without this the first redraws after a click would take several times as long.
 */
function warmUp() {
  if (!flows.a || !flows.b) return;
  const [ladder, ...parts] = [new Ladder(document.createElement("div")), document.createElement("div"), document.createElement("div")];
  const packets = flows.a.packets.filter((packet) => packet.payload_bytes).slice(0, WARM_DROPS);
  const marks = { delayed: new Map(), chosen: 0, name: "" };
  const next = () => {
    if (given) return; // Another flow was opened.
    const packet = packets.shift();
    if (!packet) return (document.documentElement.dataset.warmMs = performance.now().toFixed(0));
    let flow;
    try {
      flow = simulated("a", { drops: [{ link: packet.link, position: packet.position }], delays: [] }, SPARE_VIEW);
    } catch {
      return; // The settings have changed in the meantime, and the flow has no such packet.
    }
    const scale = axisOf([flow, flows.b], axis.scale);
    ladder.show(flow, scale, drawingWidth, marks);
    fill(parts[0], ...outcomeOf(flow));
    fill(parts[1], ...stateOf("", client.ask({ do: "moment", view: SPARE_VIEW, at_s: scale.last }), scale.last, settings.mss));
    whenIdle(next);
  };
  whenIdle(next);
}

const whenIdle = (work) => (window.requestIdleCallback ?? setTimeout)(work);

/** Pointer and keyboard in the diagrams. */
function listenToLadders() {
  const place = $("#sides");
  let drag = null;
  let suppressed = false;
  place.addEventListener("pointerdown", (event) => {
    const element = elementAt(event);
    suppressed = false;
    if (!element || event.button !== 0 || event.pointerType === "touch") return;
    const [side, packet] = packetOf(element);
    drag = { side, packet, y: event.clientY, before: delayOf(side, packet), moved: false };
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag || Math.abs(event.clientY - drag.y) < 5 && !drag.moved) return;
    drag.moved = true;
    drag.latest = event.clientY;
    if (drag.waits) return;
    drag.waits = requestAnimationFrame(() => {
      if (!drag) return;
      drag.waits = 0;
      delayBy(drag.side, drag.packet, drag.before + (1e9 * (drag.latest - drag.y)) / axis.scale);
    });
  });
  window.addEventListener("pointerup", () => {
    suppressed = Boolean(drag?.moved);
    drag = null;
  });
  place.addEventListener("click", (event) => {
    const button = event.target.closest("[data-save]");
    if (button) return saveFlow(button.closest(".side").dataset.side, button.dataset.save);
    const element = elementAt(event);
    if (!element || suppressed) return;
    const [side, packet] = packetOf(element);
    chosen[side] = packet.number;
    toggleDrop(side, packet);
  });
  place.addEventListener("pointermove", (event) => {
    const drawing = event.target.closest(".ladder");
    if (!drawing || drag?.moved) return;
    const near = drag ? null : elementAt(event);
    ladders[drawing.closest(".side").dataset.side].emphasize("near", near ? Number(near.dataset.number) : null);
    drawing.classList.toggle("over", Boolean(near));
    showState(Math.min(Math.max(axis.time(event.clientY - drawing.getBoundingClientRect().top), axis.first), axis.last));
  });
  place.addEventListener("focusin", (event) => {
    const element = event.target.closest(".packet");
    if (!element) return;
    const [side, packet] = packetOf(element);
    chosen[side] = packet.number;
    if (element.matches(":focus-visible")) ladders[side].emphasize("focused", packet.number);
    showState(packet.is_forward ? packet.sent_s : packet.ended_s ?? packet.sent_s);
  });
  place.addEventListener("focusout", () => shownSides().forEach((side) => ladders[side].emphasize("focused", null)));
  place.addEventListener("keydown", (event) => {
    const element = event.target.closest(".packet");
    if (!element || event.ctrlKey || event.altKey || event.metaKey) return;
    const [side, packet] = packetOf(element);
    const all = [...element.closest(".ladder").querySelectorAll(".packet")];
    const at = all.indexOf(element);
    const step = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    const tenth = 1e8 * (given ? 2 * axis.flight : settings.rtt / 1000);
    if (step !== undefined) {
      const next = all[Math.min(Math.max(step, 0), all.length - 1)];
      element.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") toggleDrop(side, packet);
    else if (event.key === "+" || event.key === "=") delayBy(side, packet, delayOf(side, packet) + tenth);
    else if (event.key === "-" || event.key === "−") delayBy(side, packet, Math.max(0, delayOf(side, packet) - tenth));
    else return;
    event.preventDefault();
  });
}
