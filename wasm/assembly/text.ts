// Finds the ends of JSON values, 16 or 64 bytes at a time. Reads up to 64 bytes past `end`, where the scanner keeps zeros.
// Returns 0 when the buffer ends before the value does.

// @ts-ignore: decorator
@inline export function isSpace(c: u32): bool { return c == 0x20 || (c - 9 < 5 && c != 11 && c != 12); }

// @ts-ignore: decorator
@inline export function skipSpace(p: usize): usize {
  while (isSpace(load<u8>(p))) p++;
  return p;
}

/** p: first byte of a string's content. Returns the closing quote. */
// @ts-ignore: decorator
@inline export function stringEnd(p: usize, end: usize): usize {
  const quote = i8x16.splat(0x22), back = i8x16.splat(0x5c);
  while (p < end) {
    const v = v128.load(p);
    const m = i8x16.bitmask(v128.or(i8x16.eq(v, quote), i8x16.eq(v, back)));
    if (!m) { p += 16; continue; }
    p += ctz(m);
    if (load<u8>(p) == 0x22) return p < end ? p : 0;
    p += 2; // an escaped character
  }
  return 0;
}

/** End of a number, true, null, NaN ...: the next byte that cannot belong to one. */
// @ts-ignore: decorator
@inline export function scalarEnd(p: usize, end: usize): usize {
  // Everything up to ',' (space, quote, control) and the closing brackets; '-' '.' digits and letters are above it.
  // '+' (0x2b) is below ',' but occurs in exponents, so it does not end a number.
  const comma = i8x16.splat(0x2c), curly = i8x16.splat(0x7d), square = i8x16.splat(0x5d), plus = i8x16.splat(0x2b);
  while (p < end) {
    const v = v128.load(p);
    const low = v128.andnot(i8x16.le_s(v, comma), i8x16.eq(v, plus));
    const m = i8x16.bitmask(v128.or(low, v128.or(i8x16.eq(v, curly), i8x16.eq(v, square))));
    if (m) { p += ctz(m); return p < end ? p : 0; }
    p += 16;
  }
  return 0;
}

// @ts-ignore: decorator
@inline function mask64(a: v128, b: v128, c: v128, d: v128): u64 {
  const low = <u32>(i8x16.bitmask(a) | (i8x16.bitmask(b) << 16)), high = <u32>(i8x16.bitmask(c) | (i8x16.bitmask(d) << 16));
  return <u64>low | (<u64>high << 32);
}

/** p: at '[' or '{'. Returns the byte after the matching close. */
export function nestedEnd(p: usize, end: usize): usize {
  // Most are short lists of numbers, such as a grid, with no string or bracket inside.
  const head = v128.load(p, 1);
  const inner = v128.andnot(head, i8x16.splat(0x20));
  const closes = <u32>i8x16.bitmask(i8x16.eq(inner, i8x16.splat(0x5d)));
  const others = <u32>i8x16.bitmask(v128.or(i8x16.eq(head, i8x16.splat(0x22)), i8x16.eq(inner, i8x16.splat(0x5b))));
  if (closes && (others & (closes - 1)) == 0) {
    const r = p + 2 + <usize>ctz(closes);
    return r <= end ? r : 0;
  }
  return longNestedEnd(p, end);
}

function longNestedEnd(p: usize, end: usize): usize {
  const quote = i8x16.splat(0x22), back = i8x16.splat(0x5c), open = i8x16.splat(0x5b), close = i8x16.splat(0x5d);
  const fold = i8x16.splat(0x20); // '{' and '[', '}' and ']' differ in this bit only
  let depth: i32 = 0;
  let inString: u64 = 0; // all ones while the block begins inside a string
  while (p < end) {
    const v0 = v128.load(p), v1 = v128.load(p, 16), v2 = v128.load(p, 32), v3 = v128.load(p, 48);
    const escapes = v128.or(v128.or(i8x16.eq(v0, back), i8x16.eq(v1, back)), v128.or(i8x16.eq(v2, back), i8x16.eq(v3, back)));
    if (v128.any_true(escapes)) return nestedEndSlow(p, end, depth, inString != 0);
    let q = mask64(i8x16.eq(v0, quote), i8x16.eq(v1, quote), i8x16.eq(v2, quote), i8x16.eq(v3, quote));
    // Prefix xor: bit i says whether byte i is inside a string.
    q ^= q << 1; q ^= q << 2; q ^= q << 4; q ^= q << 8; q ^= q << 16; q ^= q << 32; q ^= inString;
    inString = <u64>(<i64>q >> 63);
    const w0 = v128.andnot(v0, fold), w1 = v128.andnot(v1, fold), w2 = v128.andnot(v2, fold), w3 = v128.andnot(v3, fold);
    const opens = mask64(i8x16.eq(w0, open), i8x16.eq(w1, open), i8x16.eq(w2, open), i8x16.eq(w3, open)) & ~q;
    let closes = mask64(i8x16.eq(w0, close), i8x16.eq(w1, close), i8x16.eq(w2, close), i8x16.eq(w3, close)) & ~q;
    let closed: i32 = 0;
    while (closes) {
      closed++;
      const lowest = closes & (0 - closes);
      if (depth + <i32>popcnt(opens & (lowest - 1)) == closed) {
        const r = p + <usize>ctz(closes) + 1;
        return r <= end ? r : 0;
      }
      closes &= closes - 1;
    }
    depth += <i32>popcnt(opens) - closed;
    p += 64;
  }
  return 0;
}

function nestedEndSlow(p: usize, end: usize, depth: i32, inString: bool): usize {
  if (inString) {
    p = stringEnd(p, end);
    if (!p) return 0;
    p++;
  }
  while (p < end) {
    const c = load<u8>(p);
    if (c == 0x22) {
      p = stringEnd(p + 1, end);
      if (!p) return 0;
    } else if ((c | 0x20) == 0x7b) depth++;
    else if ((c | 0x20) == 0x7d && --depth == 0) return p + 1;
    p++;
  }
  return 0;
}

/** p: at any value. Returns the byte after it. */
export function valueEnd(p: usize, end: usize): usize {
  const c = load<u8>(p);
  if (c == 0x22) {
    const e = stringEnd(p + 1, end);
    return e ? e + 1 : 0;
  }
  if ((c | 0x20) == 0x7b) return nestedEnd(p, end);
  return scalarEnd(p, end);
}
