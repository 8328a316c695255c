import { latin1 } from '../common/text.js';

/** The number does not fit 32 bits, or is not a plain non-negative integer. */
export const WIDE = -1;
/** As in wasm/assembly/numbers.ts: larger times in nanoseconds do not fit 63 bits. */
const MAX_US = 9e15;
const MAX_NS = 9_000_000_000_000_000_000n;

function isDigit(c: number): boolean {
  return c >= 0x30 && c <= 0x39;
}

function isExponent(c: number): boolean {
  return (c | 0x20) === 0x65;
}

/** Reads numbers from their digits. Results are in fields, to avoid an object per number. */
export class NumberReader {
  /** Where the number read last ended. */
  end = 0;
  /** The time read last is us * 1000 + ns, both integers of the same sign. One double could not hold it. */
  us = Number.NaN;
  ns = 0;

  /** Unsigned integer below 0xffffffff, or WIDE. */
  readU32(b: Uint8Array, p: number): number {
    let c = b[p]!;
    if (!isDigit(c)) return WIDE;
    let v = 0;
    do {
      v = v * 10 + (c - 0x30);
      if (v >= 0xffffffff) return WIDE;
      c = b[++p]!;
    } while (isDigit(c));
    if (c === 0x2e || isExponent(c)) return WIDE;
    this.end = p;
    return v;
  }

  /** Microseconds as text into `us` and `ns`, rounding half up on the first dropped digit; false when not a number. */
  readNs(b: Uint8Array, start: number): boolean {
    let p = start;
    let us = 0;
    let c = b[p]!;
    while (isDigit(c) && us <= MAX_US) {
      us = us * 10 + (c - 0x30);
      c = b[++p]!;
    }
    if (p === start || us > MAX_US) return this.#readSlowly(b, start);
    let ns = 0;
    if (c === 0x2e) {
      const dot = p;
      for (let unit = 100; isDigit(b[p + 1]!) && p - dot < 3; unit /= 10) ns += (b[++p]! - 0x30) * unit;
      c = b[++p]!;
      if (p - dot === 1 || isDigit(c)) return this.#readSlowly(b, start);
    }
    if (isExponent(c)) return this.#readSlowly(b, start);
    this.end = p;
    this.us = us;
    this.ns = ns;
    return true;
  }

  /** Sign, many digits, exponent. */
  #readSlowly(b: Uint8Array, start: number): boolean {
    const whole = b[start] === 0x2d ? start + 1 : start;
    if (!isDigit(b[whole]!)) return this.#none();
    let p = digitsEnd(b, whole);
    let digits = latin1(b, whole, p);
    let scale = 3;
    if (b[p] === 0x2e) {
      const fraction = digitsEnd(b, p + 1);
      digits += latin1(b, p + 1, fraction);
      scale -= fraction - p - 1;
      p = fraction;
    }
    if (isExponent(b[p]!)) {
      const from = b[p + 1] === 0x2b || b[p + 1] === 0x2d ? p + 2 : p + 1;
      const to = digitsEnd(b, from);
      scale += Number(latin1(b, from, to)) * (b[p + 1] === 0x2d ? -1 : 1);
      p = to;
    }
    this.end = p;
    const ns = scaled(digits.replace(/^0+/, ''), scale);
    if (ns === null) return this.#none();
    const signed = whole === start ? ns : -ns;
    this.us = Number(signed / 1000n);
    this.ns = Number(signed % 1000n);
    return true;
  }

  #none(): boolean {
    this.us = Number.NaN;
    this.ns = 0;
    return false;
  }

  /** Any JSON number as the nearest double; NaN when it is not a number. */
  readF64(b: Uint8Array, from: number, to: number): number {
    let v = 0;
    let p = from;
    while (p < to && isDigit(b[p]!)) v = v * 10 + (b[p++]! - 0x30);
    if (p === to && p > from && p - from <= 15) return v; // below 2^53: every step was exact
    return isDigit(b[b[from] === 0x2d ? from + 1 : from]!) ? Number(latin1(b, from, to)) : Number.NaN;
  }
}

function digitsEnd(b: Uint8Array, p: number): number {
  while (isDigit(b[p]!)) p++;
  return p;
}

/** digits * 10^scale as an integer, rounding half up on the first dropped digit; null when out of range. */
function scaled(digits: string, scale: number): bigint | null {
  const kept = digits.length + scale;
  if (digits === '' || kept < 0) return 0n;
  if (kept > 19) return null;
  const v =
    BigInt(digits.slice(0, kept).padEnd(kept, '0') || '0') + (digits.charCodeAt(kept) >= 0x35 ? 1n : 0n);
  return v > MAX_NS ? null : v;
}
