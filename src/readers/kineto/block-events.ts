import { OFFSET_EVERY, type TraceData } from '../../model/trace-data.js';
import { type JsonObject, parseEvent } from '../common/json-object.js';
import { NEED_MORE, nestedEnd, SENTINEL, SENTINELS } from './json-text.js';
import { PlainScanner } from './plain-scanner.js';
import { brokenEventExtent, repairEvent } from './repair.js';

/** The position of OFFSET_EVERY rows in the decoded file. */
export interface EventBlock {
  readonly firstRow: number;
  readonly from: number;
  /** Infinity for the last block: it ends where the array does. */
  readonly to: number;
}

/** The blocks that hold these rows, in order. */
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
 * The events of a block as objects, by row. The events go one by one through the same scanner that made the rows, so only one
 * place decides what is a row and what is a folded flow.
 */
export function eventsOfBlock(block: EventBlock, bytes: Uint8Array): Map<number, JsonObject> {
  const found = new Map<number, JsonObject>();
  const scanner = new PlainScanner();
  let rows = 0;
  for (const text of splitEvents(bytes)) {
    if (!scanner.scanRepaired(text, 0)) continue;
    const after = scanner.finishBatch().rows;
    if (after === rows) continue;
    rows = after;
    found.set(block.firstRow + rows - 1, parseEvent(text) ?? {});
    if (rows === OFFSET_EVERY) break;
  }
  return found;
}

/** The objects at the top level of the bytes, repaired where they are broken, up to the end of the array. */
function* splitEvents(bytes: Uint8Array): Generator<Uint8Array> {
  const padded = new Uint8Array(bytes.length + SENTINELS).fill(SENTINEL);
  padded.set(bytes);
  for (let at = 0; at < bytes.length && bytes[at] !== 0x5d; ) {
    if (bytes[at] !== 0x7b) {
      at++;
      continue;
    }
    const end = nestedEnd(padded, at, bytes.length);
    if (end !== NEED_MORE && parseEvent(bytes.subarray(at, end)) !== undefined) {
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
