// A worker: runs of many flows and analyses of files in slices, so that the page stays responsive.

const SLICE_EVENTS = 20000;
const SLICE_PACKETS = 20000;
const REPORT_MS = 100;

let client = null;
let task = 0;

self.addEventListener("message", async ({ data }) => {
  const mine = data.kind === "connection" ? task : (task += 1);
  try {
    if (data.module) client = await clientOf(data.module);
    else if (data.kind === "run") await runLive(data, mine);
    else if (data.kind === "open") await analyse(data, mine);
    else if (data.kind === "connection")
      self.postMessage({ kind: "connection", found: client.ask({ do: "connection", flow: data.flow }) });
  } catch (problem) {
    self.postMessage({ kind: "problem", error: problem.message, hint: problem.hint });
  }
});

const pause = (milliseconds = 0) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Rows of several slices as one message.
function joined(slices) {
  const last = slices.at(-1);
  const columns = Object.keys(last).filter((name) => Array.isArray(last[name]) && name !== "links");
  return { ...last, ...Object.fromEntries(columns.map((name) => [name, slices.flatMap((each) => each[name])])) };
}

async function runLive({ scenario, seed, speed }, mine) {
  const { duration_s } = client.ask({ do: "start", scenario, seed });
  const began = performance.now();
  let [slices, reported] = [[], began];
  while (task === mine) {
    const slice = client.ask({ do: "advance", events: speed ? 500 : SLICE_EVENTS });
    slices.push(slice);
    const now = performance.now();
    if (slice.is_done || now - reported > REPORT_MS) {
      self.postMessage({ kind: "rows", mine, duration_s, wall_s: (now - began) / 1000, ...joined(slices) });
      [slices, reported] = [[], now];
      await pause();
    }
    if (slice.is_done) return;
    if (speed) {
      const ahead = slice.now_s / speed - (performance.now() - began) / 1000;
      if (ahead > 0.01) await pause(1000 * Math.min(ahead, 0.1));
    }
  }
}

/** Bytes of a file, which may be compressed with gzip. */
async function content(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = file.stream().pipeThrough(new DecompressionStream("gzip"));
  try {
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new Refusal({ error: "cannot read the capture: the gzip data is damaged or has several members", hint: "decompress the file, or use `tcpsf analyze`" });
  }
}

async function analyse({ file }, mine) {
  const began = performance.now();
  const bytes = await content(file);
  client.ask({ do: "open" }, bytes);
  let reported = began;
  while (task === mine) {
    const found = client.ask({ do: "analyze", packets: SLICE_PACKETS });
    const now = performance.now();
    if (found.is_done || now - reported > REPORT_MS) {
      self.postMessage({ kind: "analysed", name: file.name, size: bytes.length, wall_s: (now - began) / 1000, found });
      reported = now;
      await pause();
    }
    if (found.is_done) return;
  }
}
