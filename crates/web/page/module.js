// The WebAssembly module: requests and answers as JSON, as `tcpsf.d.ts` declares them.

/** @param {WebAssembly.Module} compiled */
async function clientOf(compiled) {
  const { exports } = await WebAssembly.instantiate(compiled, {});
  const bytes = (address, length) => new Uint8Array(exports.memory.buffer, address, length);
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
  const put = (name, content) => bytes(exports[name](content.length), content.length).set(content);

  /** Answer as bytes, which the next request overwrites. */
  function raw(request, file = new Uint8Array()) {
    put("request", encoder.encode(JSON.stringify(request)));
    put("file", file);
    exports.answer();
    return bytes(exports.result_address(), exports.result_length());
  }

  /** Answer as an object. Throws a `Refusal` if the request cannot be carried out. */
  function ask(request, file) {
    const found = JSON.parse(decoder.decode(raw(request, file)));
    if (found.error !== undefined) throw new Refusal(found);
    return found;
  }

  /** Capture of a kept flow, as bytes of its own. */
  function capture(view) {
    const found = raw({ do: "capture", view });
    if (found[0] === 0x7b) throw new Refusal(JSON.parse(decoder.decode(found)));
    return found.slice();
  }

  return { ask, capture };
}

class Refusal extends Error {
  constructor({ error, hint }) {
    super(error);
    this.hint = hint;
  }
}

/** Module that the page contains, compressed. */
function compiledModule() {
  const element = document.querySelector("#module");
  const compressed = Uint8Array.from(atob(element.textContent.trim()), (letter) => letter.charCodeAt(0));
  return WebAssembly.compile(unpackedLzma(compressed, Number(element.dataset.bytes)));
}
