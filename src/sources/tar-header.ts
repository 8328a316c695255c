export const BLOCK = 512;

/** The fields of a tar header that matter here. */
export interface TarHeader {
  readonly name: string;
  readonly size: number;
  /** `0` a regular file, `x` pax attributes, `L` a GNU long name, … */
  readonly type: string;
}

const utf8 = new TextDecoder();

/** Null when the block is not a valid header: a wrong checksum, or a size that is not a number. */
export function parseTarHeader(block: Uint8Array): TarHeader | null {
  if (block.length < BLOCK || !hasValidChecksum(block)) return null;
  const size = parseNumber(block.subarray(124, 136));
  if (!Number.isSafeInteger(size) || size < 0) return null;
  const prefix = isPosix(block) ? text(block, 345, 155) : '';
  const name = text(block, 0, 100);
  return { name: prefix === '' ? name : `${prefix}/${name}`, size, type: typeOf(block[156]!) };
}

/**
 * Whether these first bytes are a tar: by its magic, by a matching header checksum (old v7 tars have no magic), or, when the
 * file ends within the first header, by a name padded with zeros and an octal mode after it.
 */
export function looksLikeTar(head: Uint8Array): boolean {
  if (head.length >= 263 && isUstar(head)) return true;
  if (head.length >= BLOCK) return head[0] !== 0 && hasValidChecksum(head);
  const end = head.indexOf(0);
  const isNamePadded = end > 0 && end < 100 && head.subarray(end, 100).every((byte) => byte === 0);
  return isNamePadded && head.length >= 108 && /^[0-7 ]{6,7}[\0 ]/.test(latin1(head, 100, 8));
}

/** The records of a pax header, `length key=value\n` each, up to the first broken one. */
export function parsePax(bytes: Uint8Array): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = space < 0 ? Number.NaN : Number(latin1(bytes, at, space - at));
    if (!(length > space - at + 1) || at + length > bytes.length) break;
    const record = utf8.decode(bytes.subarray(space + 1, at + length - 1));
    const equals = record.indexOf('=');
    if (equals > 0) records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

/** Text up to the first zero. */
export function text(bytes: Uint8Array, at: number, length: number): string {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return utf8.decode(end < 0 ? field : field.subarray(0, end));
}

function hasValidChecksum(block: Uint8Array): boolean {
  const stored = parseNumber(block.subarray(148, 156));
  let unsigned = 0;
  let signed = 0;
  for (let i = 0; i < BLOCK; i++) {
    const byte = i >= 148 && i < 156 ? 0x20 : block[i]!;
    unsigned += byte;
    signed += byte < 128 ? byte : byte - 256; // some old tars summed signed chars
  }
  return stored === unsigned || stored === signed;
}

/** Octal digits, or base 256 with the top bit set (GNU, sizes of 8 GiB and more). NaN when it is neither. */
function parseNumber(field: Uint8Array): number {
  if (field[0]! & 0x80)
    return field.reduce((value, byte, i) => value * 256 + (i === 0 ? byte & 0x7f : byte), 0);
  const digits = latin1(field, 0, field.length)
    .replace(/[\0 ]+$/, '')
    .trimStart();
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || '0', 8) : Number.NaN;
}

function isUstar(block: Uint8Array): boolean {
  return latin1(block, 257, 5) === 'ustar';
}

/** GNU tars (`ustar` and a space) use the field of the name prefix for other things. */
function isPosix(block: Uint8Array): boolean {
  return isUstar(block) && block[262] === 0;
}

/** v7 marks a regular file with a zero; `7` is a contiguous file. */
function typeOf(flag: number): string {
  return flag === 0 || flag === 0x37 ? '0' : String.fromCharCode(flag);
}

function latin1(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
