/** The polynomial of gzip's CRC-32, lowest power in the highest bit. */
const POLYNOMIAL = 0xedb88320;
/** x^0, as the polynomials here are written. */
const ONE = 0x80000000;

/**
 * The CRC-32 of each part of some data, from the CRC-32 of everything up to the end of each part. All parts have `length` bytes,
 * but for the last, which has `lastLength`.
 */
export function crcOfParts(running: Uint32Array, length: number, lastLength: number): Uint32Array {
  const usual = powerOfX(8 * length);
  const last = powerOfX(8 * lastLength);
  return running.map((crc, i) => {
    // The CRC of two parts is that of the first, shifted by the length of the second, plus that of the second.
    const shift = i === running.length - 1 ? last : usual;
    return crc ^ multiply(shift, i === 0 ? 0 : running[i - 1]!);
  });
}

/** x^n modulo the polynomial. */
function powerOfX(n: number): number {
  let power = ONE;
  let square = ONE >>> 1;
  for (let left = n; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) power = multiply(power, square);
    square = multiply(square, square);
  }
  return power;
}

/** a · b modulo the polynomial. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= shifted;
    shifted = shifted & 1 ? (shifted >>> 1) ^ POLYNOMIAL : shifted >>> 1;
  }
  return product >>> 0;
}
