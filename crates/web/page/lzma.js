// Decoder of the format LZMA ("LZMA specification", Igor Pavlov, 2015), which browsers do not have.

/** Positions of the probabilities of each decision, and their number without those of literals. */
const LZMA = { match: 0, rep: 192, rep0: 204, rep1: 216, rep2: 228, long: 240, slot: 432, distance: 688, align: 803, length: 819, repLength: 1333, literal: 1847 };

/**
 * Decodes a file in the `.lzma` format.
 * @param {Uint8Array} input file: header of 13 bytes, and a stream that has an end marker
 * @param {number} size length of the content in bytes
 */
function unpackedLzma(input, size) {
  const [lc, lp, pb] = [input[0] % 9, Math.floor(input[0] / 9) % 5, Math.floor(input[0] / 45)];
  const output = new Uint8Array(size);
  const odds = new Uint16Array(LZMA.literal + (0x300 << (lc + lp))).fill(1024);
  let [at, range, code] = [18, 0xffffffff, new DataView(input.buffer, input.byteOffset).getUint32(14)];

  function refill() {
    if (range >= 0x1000000) return;
    range = (range << 8) >>> 0;
    code = ((code << 8) | input[at]) >>> 0;
    at += 1;
  }

  /** The decision with a probability at a position. */
  function bit(place) {
    const odd = odds[place];
    const bound = (range >>> 11) * odd;
    const found = code < bound ? 0 : 1;
    if (found) {
      range -= bound;
      code -= bound;
      odds[place] = odd - (odd >> 5);
    } else {
      range = bound;
      odds[place] = odd + ((2048 - odd) >> 5);
    }
    refill();
    return found;
  }

  function number(place, bits) {
    let found = 1;
    for (let left = bits; left; left -= 1) found = (found << 1) | bit(place + found);
    return found - (1 << bits);
  }

  /** A number whose least significant bit comes first. */
  function reversed(place, bits) {
    let [found, node] = [0, 1];
    for (let each = 0; each < bits; each += 1) {
      const next = bit(place + node);
      node = (node << 1) | next;
      found |= next << each;
    }
    return found;
  }

  /** A number of equally probable bits. */
  function direct(bits) {
    let found = 0;
    for (let left = bits; left; left -= 1) {
      range >>>= 1;
      const next = code >= range ? 1 : 0;
      if (next) code -= range;
      found = 2 * found + next;
      refill();
    }
    return found;
  }

  function lengthAt(place, position) {
    if (!bit(place)) return number(place + 2 + (position << 3), 3);
    if (!bit(place + 1)) return 8 + number(place + 130 + (position << 3), 3);
    return 16 + number(place + 258, 8);
  }

  function literal(end, state, distance) {
    const before = end ? output[end - 1] : 0;
    const place = LZMA.literal + 0x300 * (((end & ((1 << lp) - 1)) << lc) + (before >> (8 - lc)));
    let symbol = 1;
    // After a match, the byte at its distance is probably another one, so it selects the odds.
    for (let [likely, same] = [state < 7 ? 0 : output[end - distance - 1], state >= 7]; same && symbol < 0x100; likely <<= 1) {
      const expected = (likely >> 7) & 1;
      const next = bit(place + ((1 + expected) << 8) + symbol);
      symbol = (symbol << 1) | next;
      same = next === expected;
    }
    while (symbol < 0x100) symbol = (symbol << 1) | bit(place + symbol);
    return symbol & 0xff;
  }

  function distanceOf(length) {
    const slot = number(LZMA.slot + (Math.min(length - 2, 3) << 6), 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const high = (2 | (slot & 1)) * 2 ** bits;
    if (slot < 14) return high + reversed(LZMA.distance + high - slot, bits);
    return high + direct(bits - 4) * 16 + reversed(LZMA.align, 4);
  }

  // Distances of the last four matches, latest first.
  let [first, second, third, fourth] = [0, 0, 0, 0];
  let [end, state] = [0, 0];
  for (;;) {
    const position = end & ((1 << pb) - 1);
    if (!bit(LZMA.match + (state << 4) + position)) {
      output[end] = literal(end, state, first);
      end += 1;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let length;
    if (!bit(LZMA.rep + state)) {
      length = lengthAt(LZMA.length, position) + 2;
      [fourth, third, second, first] = [third, second, first, distanceOf(length)];
      if (first === 0xffffffff) return output;
      state = state < 7 ? 7 : 10;
    } else {
      if (bit(LZMA.rep0 + state)) {
        if (!bit(LZMA.rep1 + state)) [first, second] = [second, first];
        else if (!bit(LZMA.rep2 + state)) [first, second, third] = [third, first, second];
        else [first, second, third, fourth] = [fourth, first, second, third];
      } else if (!bit(LZMA.long + (state << 4) + position)) length = 1;
      if (length) state = state < 7 ? 9 : 11;
      else {
        length = lengthAt(LZMA.repLength, position) + 2;
        state = state < 7 ? 8 : 11;
      }
    }
    for (const last = end + length; end < last; end += 1) output[end] = output[end - first - 1];
  }
}
