/**
 * Finds the ends of JSON values, byte by byte. The buffer has SENTINEL at `end` and after it, so a loop for a quote, a space
 * or a digit stops there by itself, and one comparison afterwards tells whether the value was complete.
 */

/** Comes SENTINELS times after the last byte of the input: an escape may jump over the first. */
export const SENTINEL = 0x22;
export const SENTINELS = 4;
/** The buffer ends before the value does. */
export const NEED_MORE = -1;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export function isSpace(c: number): boolean {
  return c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
}

export function skipSpace(b: Uint8Array, p: number): number {
  while (isSpace(b[p]!)) p++;
  return p;
}

/** p: first byte of a string's content. Returns the byte after the closing quote. */
export function stringEnd(b: Uint8Array, p: number, end: number): number {
  for (;;) {
    const c = b[p];
    if (c === QUOTE) return p < end ? p + 1 : NEED_MORE;
    p += c === BACKSLASH ? 2 : 1;
  }
}

/** For each byte, whether it ends a number, true, null, NaN ... */
const ENDS_SCALAR = Uint8Array.from({ length: 256 }, (_, c) => {
  // Space, quote and control characters are below ','. So is '+', which occurs in exponents.
  return (c <= 0x2c && c !== 0x2b) || c === 0x5d || c === 0x7d || c >= 0x80 ? 1 : 0;
});

export function scalarEnd(b: Uint8Array, p: number, end: number): number {
  while (ENDS_SCALAR[b[p]!] === 0) p++;
  return p < end ? p : NEED_MORE;
}

/** p: at '[' or '{', which differ in one bit, as do ']' and '}'. Returns the byte after the matching bracket. */
export function nestedEnd(b: Uint8Array, p: number, end: number): number {
  let depth = 0;
  while (p < end) {
    const c = b[p++]!;
    if (c === QUOTE) {
      p = stringEnd(b, p, end);
      if (p === NEED_MORE) return NEED_MORE;
    } else if ((c | 0x20) === 0x7b) depth++;
    else if ((c | 0x20) === 0x7d && --depth === 0) return p;
  }
  return NEED_MORE;
}

/** p: at any value. Returns the byte after it. */
export function valueEnd(b: Uint8Array, p: number, end: number): number {
  const c = b[p]!;
  if (c === QUOTE) return stringEnd(b, p + 1, end);
  return (c | 0x20) === 0x7b ? nestedEnd(b, p, end) : scalarEnd(b, p, end);
}

/** NaN, Infinity, inf and nan, with or without a sign; null is none of them. */
export function isNonFinite(b: Uint8Array, p: number): boolean {
  if (b[p] === 0x2d) p++;
  const c = b[p];
  return c === 0x4e || c === 0x49 || c === 0x69 || (c === 0x6e && b[p + 1] === 0x61);
}
