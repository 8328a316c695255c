import { OFFSET_EVERY, type TraceData } from '../../model/trace-data.js';
import { JsScanner } from './js-scanner.js';
import { brokenEventExtent, repairEvent } from './repair.js';

/** Where in the decoded file the events of some rows lie: whole blocks of OFFSET_EVERY rows, in order. */
export interface EventBlock {
  readonly firstRow: number;
  readonly from: number;
  /** Infinity for the last block: it ends where the array does. */
  readonly to: number;
}

export function blocksOf(data: TraceData, rows: readonly number[]): readonly EventBlock[] {
  const wanted = [...new Set(rows.map((row) => Math.floor(row / OFFSET_EVERY)))].sort((a, b) => a - b);
  return wanted
    .filter((b) => b >= 0 && b < data.offsets.length)
    .map((b) => ({
      firstRow: b * OFFSET_EVERY,
      from: data.offsets[b]!,
      to: data.offsets[b + 1] ?? Number.POSITIVE_INFINITY,
    }));
}

/**
 * The events of a block as objects, by row. Goes through the events one by one with the same scanner that made the
 * rows, so that what is a row and what is a folded flow is decided in one place.
 */
export function eventsOfBlock(
  block: EventBlock,
  bytes: Uint8Array,
): Map<number, Readonly<Record<string, unknown>>> {
  const found = new Map<number, Readonly<Record<string, unknown>>>();
  const scanner = new JsScanner();
  let rows = 0;
  for (const text of splitEvents(bytes)) {
    if (!scanner.scanRepaired(text, 0)) continue;
    const after = scanner.finishBatch().rows;
    if (after === rows) continue;
    rows = after;
    found.set(block.firstRow + rows - 1, parse(text));
    if (rows === OFFSET_EVERY) break;
  }
  return found;
}

/** Objects at the top level of the bytes, mended where they are broken. Ends at the array's end. */
function* splitEvents(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const c = bytes[at]!;
    if (c === 0x5d) return;
    if (c !== 0x7b) {
      at++;
      continue;
    }
    const end = objectEnd(bytes, at);
    if (end > 0 && isJson(bytes.subarray(at, end))) {
      yield bytes.subarray(at, end);
      at = end;
      continue;
    }
    const rest = bytes.subarray(at);
    const extent = brokenEventExtent(rest, true);
    if (extent.kind !== 'found') return;
    const repaired = repairEvent(rest.slice(0, extent.length));
    yield repaired.text;
    at += repaired.length;
  }
}

function objectEnd(bytes: Uint8Array, start: number): number {
  let depth = 0;
  let inString = false;
  for (let at = start; at < bytes.length; at++) {
    const c = bytes[at]!;
    if (inString) {
      if (c === 0x5c) at++;
      else if (c === 0x22) inString = false;
    } else if (c === 0x22) inString = true;
    else if (c === 0x7b || c === 0x5b) depth++;
    else if ((c === 0x7d || c === 0x5d) && --depth === 0) return at + 1;
  }
  return -1;
}

function isJson(bytes: Uint8Array): boolean {
  return parse(bytes) !== EMPTY;
}

const EMPTY: Readonly<Record<string, unknown>> = {};
/** NaN and infinities stand in traces where JSON has no word for them; integers above 2^53 stay text. */
const NON_JSON = /"(?:[^"\\]|\\[\s\S])*"|-?\b(?:NaN|Infinity|inf|nan)\b|-?\d{16,}(?![\d.eE])/g;

function parse(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const tame = text.replace(NON_JSON, (t) => {
    if (t[0] === '"')
      return t.replace(/[\u0000-\u001f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
    return /\d/.test(t) ? (Number.isSafeInteger(Number(t)) ? t : `"${t}"`) : 'null';
  });
  try {
    return JSON.parse(tame) as Readonly<Record<string, unknown>>;
  } catch {
    return EMPTY;
  }
}
