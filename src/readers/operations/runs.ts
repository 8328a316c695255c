/** The data does not follow the format. */
export class BadData extends Error {}
/** The data may be sound, but uses a feature that is not supported here. */
export class Unsupported extends Error {}

/** Wider indices would mean a dictionary with more entries than a table may have rows. */
const MAX_WIDTH = 24;

/**
 * Parquet's hybrid of run lengths and packed bits, used for levels and dictionary indices. Never writes more than `out`
 * holds: hyparquet's own reader believes the lengths, so a few damaged bytes can ask for gigabytes.
 */
export function readRuns(bytes: Uint8Array, from: number, width: number, out: Int32Array): void {
  if (width > MAX_WIDTH) throw new BadData('width of indices');
  let at = from;
  let filled = 0;
  while (filled < out.length) {
    let header = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 28) throw new BadData('runs end early');
      header += (byte & 127) * 2 ** shift;
      if (byte < 128) break;
    }
    const packed = header % 2 === 1;
    const count = Math.min(Math.floor(header / 2) * (packed ? 8 : 1), out.length - filled);
    if (packed) {
      unpack(bytes, at, width, out.subarray(filled, filled + count));
      at += Math.floor(header / 2) * width;
    } else {
      let value = 0;
      for (let shift = 0; shift < width; shift += 8) value |= byteAt(bytes, at++) << shift;
      out.fill(value, filled, filled + count);
    }
    filled += count;
  }
}

function unpack(bytes: Uint8Array, from: number, width: number, out: Int32Array): void {
  const mask = 2 ** width - 1;
  let at = from;
  let held = 0;
  let bits = 0;
  for (let i = 0; i < out.length; i++) {
    while (bits < width) {
      held |= byteAt(bytes, at++) << bits;
      bits += 8;
    }
    out[i] = held & mask;
    held >>>= width;
    bits -= width;
  }
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new BadData('runs end early');
  return byte;
}
