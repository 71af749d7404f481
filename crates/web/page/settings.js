// Settings of the page, their scenario, and their text in the address.

const $ = (selector, within = document) => within.querySelector(selector);
const words = JSON.parse($("#words").textContent);

const SENDERS = {
  linux: { name: "Linux: CUBIC, RACK-TLP, PRR", control: "linux", profile: "linux-6.18", most: 64 },
  sack: { name: "Reno with SACK (RFC 6675)", control: "reno+sack", profile: "rfc", most: 10 },
  newreno: { name: "NewReno (RFC 6582)", control: "reno+newreno", profile: "rfc", most: 10 },
  lt: { name: "SACK, Limited Transmit, Early Retransmit", control: "reno+sack+lt+er", profile: "rfc", most: 10 },
};
const REMEDIES = {
  none: ["none", "full"],
  fs: ["FS-TCP-SF: four segments for one", "fs(n={n}, min={min})"],
  vs: ["VS-TCP-SF: growing segments", "vs(n={n}, min={min})"],
  tail: ["tail(n=4): the last segment in pieces", "tail(n=4)"],
  tiny: ["tiny-tail: the last byte on its own", "tiny-tail"],
  dup: ["dup-tail: the last segment twice", "dup-tail"],
  rto: ["rto-min(ms=20): a shorter timeout", "rto-min(ms=20)"],
};
const DEFAULTS = {
  view: "flow", size: 8000, rtt: 80, rate: 2, mss: 1448, iw: 10, handshake: 1,
  a: "linux", ra: "none", b: "sack", rb: "none", da: "", db: "", la: "", lb: "", workload: "", index: 0, flow: "",
  qrate: 10, qrtt: 100, qbuffer: 125, qkind: "drop-tail", qload: 0.6, qlong: 0, qloss: 0, qseed: 1,
  qa: "sack", qra: "none", qb: "sack", qrb: "fs",
};
const settings = { ...DEFAULTS };
/** Scenario of a file, or of the address; `null` if the controls make it. */
let given = JSON.parse($("#given-scenario").textContent || "null");

/** Name of a sender, as a scenario has it. */
function senderName(key, remedy, iw) {
  const { control, most } = SENDERS[key];
  const window = Math.min(Math.max(1, Math.round(iw)), most);
  // Framing of a window of several segments replaces them all, as `tcpsf advise` does.
  const framing = REMEDIES[remedy][1].replace("{n}", Math.min(4 * window, 64)).replace("{min}", Math.max(4, window + 1));
  return `${control} / ${framing} / iw=${window}`;
}

/** Scenario of one side of the flow view. */
function flowScenario(side) {
  if (given) return given.scenario;
  const { size, rtt, rate, mss, iw, handshake } = settings;
  const delay = `${Math.round(rtt * 500)}us`;
  const link = (name, from, to) => ({ name, from, to, rate: `${Math.round(rate * 1000)}kb/s`, delay });
  const key = settings[side];
  return {
    name: "playground", duration: "120s",
    link: [link("there", "server", "client"), link("back", "client", "server")],
    workload: [{
      name: "one", kind: "transfers", from: "server", to: "client", sizes: [Math.round(size)],
      sender: senderName(key, settings[`r${side}`], iw), handshake: Boolean(handshake),
    }],
    tcp: { profile: SENDERS[key].profile, mss: Math.round(mss) },
  };
}

/** Scenario of the view of many flows. */
function queueScenario() {
  if (given) {
    const every = given.scenario.samples?.every ?? "100ms";
    return { ...given.scenario, samples: { every, links: given.scenario.link.map((link) => link.name) } };
  }
  const { qrate, qrtt, qbuffer, qkind, qload, qlong, qloss, qa, qra, qb, qrb } = settings;
  const delay = `${Math.round(qrtt * 500)}us`;
  const rate = `${Math.round(qrate * 1000)}kb/s`;
  const buffer = { bytes: `${Math.round(qbuffer * 1000)}B`, ...(qkind === "drop-tail" ? {} : { [qkind]: {} }) };
  const loss = qloss > 0 ? { loss: { kind: "packet", probability: qloss / 100 } } : {};
  const ends = { from: "servers", to: "clients" };
  const tcp = (key) => ({ profile: SENDERS[key].profile, mss: 1460 });
  const short = (name, key, remedy) => ({
    name, kind: "poisson", ...ends, load: qload / 2, of: "bottleneck", sizes: { classes: words.classes },
    sender: senderName(key, remedy, 3), tcp: tcp(key),
  });
  const workload = qload > 0 ? [short("one", qa, qra), short("other", qb, qrb)] : [];
  if (qlong > 0 || !workload.length)
    workload.push({ name: "long", kind: "greedy", ...ends, flows: Math.max(1, Math.round(qlong)), spread: "1s", sender: senderName("linux", "none", 10), tcp: tcp("linux") });
  return {
    name: "playground", duration: "60s", samples: { every: "50ms", links: ["bottleneck"] },
    link: [
      { name: "bottleneck", ...ends, rate, delay, buffer, ...loss },
      { name: "return", from: "clients", to: "servers", rate, delay },
    ],
    workload,
  };
}

/** Edits of one side: packets by link and position, from their text in the address. */
function editsOf(side) {
  const parts = (text) => (text ? text.split(",") : []).map((part) => part.split("."));
  return {
    drops: parts(settings[`d${side}`]).map(([link, position]) => ({ link, position: Number(position) })),
    delays: parts(settings[`l${side}`]).map(([link, position, by]) => ({ link, position: Number(position), by_ns: 1000 * Number(by) })),
  };
}

function setEdits(side, { drops, delays }) {
  settings[`d${side}`] = drops.map(({ link, position }) => `${link}.${position}`).join(",");
  settings[`l${side}`] = delays.map(({ link, position, by_ns }) => `${link}.${position}.${Math.round(by_ns / 1000)}`).join(",");
}

/** Settings that differ from the defaults, as the fragment of the address. */
function fragment() {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(settings)) if (String(value) !== String(DEFAULTS[name])) found.set(name, value);
  if (given?.packed) found.set("scenario", given.packed);
  if (given?.packed && given.seed !== 1) found.set("seed", given.seed);
  // Commas and colons are allowed in a fragment, and are readable.
  return found.toString().replaceAll("%2C", ",");
}

async function readFragment() {
  const found = new URLSearchParams(location.hash.slice(1));
  Object.assign(settings, DEFAULTS);
  for (const [name, value] of found) {
    if (!(name in DEFAULTS)) continue;
    if (typeof DEFAULTS[name] === "number") {
      if (value !== "" && Number.isFinite(Number(value))) settings[name] = Number(value);
    } else settings[name] = value;
  }
  for (const side of ["a", "b", "qa", "qb"]) if (!(settings[side] in SENDERS)) settings[side] = DEFAULTS[side];
  for (const side of ["ra", "rb", "qra", "qrb"]) if (!(settings[side] in REMEDIES)) settings[side] = DEFAULTS[side];
  const packed = found.get("scenario");
  const seed = Number(found.get("seed") ?? 1);
  if (packed && (packed !== given?.packed || seed !== given.seed))
    given = { packed, name: "of the address", scenario: await unpacked(packed), seed: Number.isSafeInteger(seed) && seed >= 0 ? seed : 1 };
}

/** Scenario from the address: JSON, deflated (RFC 1951), in the URL-safe alphabet of RFC 4648. */
async function unpacked(packed) {
  const text = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

/** Timer of an address that is not written yet. */
let addressTimer = 0;

function writeFragment() {
  clearTimeout(addressTimer);
  addressTimer = 0;
  const text = fragment();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

/** Writes the address after some time. Browsers refuse many changes in a short time, as of a drag. */
function writeFragmentSoon() {
  addressTimer ||= setTimeout(writeFragment, 200);
}

/** Elements of a form that have a setting. */
const inputs = () => [...document.querySelectorAll("[name]")].filter((input) => input.name in DEFAULTS);

function showSettings() {
  for (const input of inputs()) {
    if (input.type === "checkbox") input.checked = Boolean(settings[input.name]);
    else input.value = settings[input.name];
  }
}

/** Takes the value of an input. Returns false if it is not valid. */
function takeSetting(input) {
  if (input.type === "checkbox") settings[input.name] = Number(input.checked);
  else if (typeof DEFAULTS[input.name] === "number") {
    if (input.value === "" || !input.checkValidity()) return false;
    settings[input.name] = Number(input.value);
  } else settings[input.name] = input.value;
  return true;
}
