// Reads numbers from their digits. Times never become a double: microseconds since 1970 with three decimals need 61 bits.

/** Where the number just read ended. */
export let numberEnd: usize = 0;

/** Not a number. */
export const BAD: i64 = i64.MIN_VALUE;
/** The number does not fit 32 bits, or is not a plain non-negative integer. */
export const WIDE: u64 = u64.MAX_VALUE;

/** Above this, nanoseconds do not fit 63 bits. */
const MAX_US: u64 = 9000000000000000;
const ZEROS: u64 = 0x3030303030303030;

/** How many of the eight bytes (already xored with ZEROS) are leading digits. */
// @ts-ignore: decorator
@inline function leadingDigits(x: u64): u32 {
  const t = ((x + 0x7676767676767676) | x) & 0x8080808080808080;
  return <u32>ctz(t) >> 3;
}
/** Eight digit values, first in the low byte, to a number. */
// @ts-ignore: decorator
@inline function eightDigits(x: u64): u64 {
  x = (x * 10 + (x >> 8)) & 0x00ff00ff00ff00ff;
  x = (x * 100 + (x >> 16)) & 0x0000ffff0000ffff;
  return (x * 10000 + (x >> 32)) & 0xffffffff;
}
// @ts-ignore: decorator
@inline function isDigit(c: u32): bool { return c - 0x30 < 10; }
// @ts-ignore: decorator
@inline function isExponent(c: u32): bool { return (c | 0x20) == 0x65; }

function power10(k: u32): u64 {
  let r: u64 = 1;
  while (k-- > 0) r *= 10;
  return r;
}

/** Unsigned integer below the sentinel 0xffffffff, or WIDE. */
// @ts-ignore: decorator
@inline export function readU32(p: usize): u64 {
  const x = load<u64>(p) ^ ZEROS;
  const d = leadingDigits(x);
  if (d == 0) return WIDE;
  let v: u64;
  if (d < 8) {
    v = eightDigits(x << ((8 - d) << 3));
    p += d;
  } else {
    v = eightDigits(x);
    p += 8;
    let c = <u32>load<u8>(p) - 0x30;
    while (c < 10) {
      v = v * 10 + c;
      if (v >= 0xffffffff) return WIDE;
      c = <u32>load<u8>(++p) - 0x30;
    }
  }
  const c = <u32>load<u8>(p);
  if (c == 0x2e || isExponent(c)) return WIDE;
  numberEnd = p;
  return v;
}

/** Microseconds as text to integer nanoseconds, rounding half up on the first dropped digit; BAD when not a number. */
// @ts-ignore: decorator
@inline export function readNs(p: usize): i64 {
  const x = load<u64>(p) ^ ZEROS, d = leadingDigits(x);
  let v: u64, q: usize;
  if (d < 8) {
    if (d == 0) return readNsSlow(p);
    v = eightDigits(x << ((8 - d) << 3));
    q = p + d;
  } else {
    const x2 = load<u64>(p, 8) ^ ZEROS, d2 = leadingDigits(x2);
    v = eightDigits(x);
    if (d2) v = v * power10Small(d2) + eightDigits(x2 << ((8 - d2) << 3));
    q = p + 8 + d2;
    if (d2 == 8 && (v > MAX_US || isDigit(load<u8>(q)))) return readNsSlow(p);
  }
  let c = <u32>load<u8>(q);
  if (c != 0x2e) {
    if (isExponent(c)) return readNsSlow(p);
    numberEnd = q;
    return <i64>(v * 1000);
  }
  const f = load<u64>(q, 1) ^ ZEROS, decimals = leadingDigits(f);
  if (decimals == 0 || decimals > 3) return readNsSlow(p);
  const fraction = ((f & 15) * 100) + (decimals > 1 ? ((f >> 8) & 15) * 10 : 0) + (decimals > 2 ? (f >> 16) & 15 : 0);
  q += 1 + decimals;
  c = <u32>load<u8>(q);
  if (isExponent(c)) return readNsSlow(p);
  numberEnd = q;
  return <i64>(v * 1000 + fraction);
}

// @ts-ignore: decorator
@inline function power10Small(d: u32): u64 {
  switch (d) {
    case 1: return 10;
    case 2: return 100;
    case 3: return 1000;
    case 4: return 10000;
    case 5: return 100000;
    case 6: return 1000000;
    case 7: return 10000000;
    default: return 100000000;
  }
}

/** Sign, many digits, exponent. 19 digits are kept, which is all of the nanoseconds; the one after them rounds. */
function readNsSlow(p: usize): i64 {
  const negative = load<u8>(p) == 0x2d;
  if (negative) p++;
  if (!isDigit(load<u8>(p))) return BAD;
  let m: u64 = 0, kept = 0, next: i32 = -1, scale: i32 = 3, dot = false;
  while (true) {
    const c = <u32>load<u8>(p);
    if (c == 0x2e && !dot) dot = true;
    else if (!isDigit(c)) break;
    else if (kept < 19) {
      m = m * 10 + (c - 0x30);
      if (m) kept++;
      if (dot) scale--;
    } else {
      if (next < 0) next = <i32>c - 0x30;
      if (!dot) scale++;
    }
    p++;
  }
  if (isExponent(load<u8>(p))) {
    p++;
    const down = load<u8>(p) == 0x2d;
    if (down || load<u8>(p) == 0x2b) p++;
    let e: i32 = 0;
    while (isDigit(load<u8>(p))) { if (e < 100000) e = e * 10 + (<i32>load<u8>(p) - 0x30); p++; }
    scale += down ? -e : e;
  }
  numberEnd = p;
  if (m == 0) return 0;
  while (scale > 0) { if (m > 900000000000000000) return BAD; m *= 10; scale--; }
  let dropped: u64 = scale == 0 && next > 0 ? next : 0;
  while (scale < 0 && m) { dropped = m % 10; m /= 10; scale++; }
  if (scale < 0) dropped = 0;
  if (dropped >= 5) m++;
  if (m > 9000000000000000000) return BAD;
  return negative ? -(<i64>m) : <i64>m;
}

// The host's parser reads numbers that the fast path cannot round correctly.
// @ts-ignore: decorator
@external('env', 'parseNumber')
declare function parseNumber(at: usize, length: usize): f64;

/** Any JSON number as the nearest double; NaN when it is not a number. */
export function readF64(p: usize, tokenEnd: usize): f64 {
  const start = p;
  const negative = load<u8>(p) == 0x2d;
  if (negative) p++;
  if (!isDigit(load<u8>(p))) return NaN;
  let m: u64 = 0, digits = 0, decimals = 0, dot = false;
  while (p < tokenEnd) {
    const c = <u32>load<u8>(p);
    if (c == 0x2e && !dot) dot = true;
    else if (isDigit(c)) {
      if (m) digits++;
      if (digits >= 15) return parseNumber(start, tokenEnd - start);
      m = m * 10 + (c - 0x30);
      if (dot) decimals++;
    } else return parseNumber(start, tokenEnd - start);
    p++;
  }
  // Both fit a double exactly and the division rounds once (Clinger 1990).
  if (decimals > 15) return parseNumber(start, tokenEnd - start);
  const r = decimals ? <f64>m / <f64>power10(decimals) : <f64>m;
  return negative ? -r : r;
}
