import { InputError } from '../base/input-error.js';
import type { TraceData } from '../model/trace-data.js';
import { blocksOf, type EventBlock, eventsOfBlock } from '../readers/kineto/block-events.js';
import { visitMembers } from '../sources/open.js';

/** Rows asked for at once; each costs up to one block of 256 events in memory. */
const MAX_ROWS = 4096;
/** The last block has no known end. */
const LAST_BLOCK_BYTES = 16 << 20;

/**
 * Whole events as they stand in the file, for arguments that are no columns. Goes through the file once up to the last
 * row asked for. `file` and `member` as in RunTrace.
 */
export async function readEvents(
  from: { readonly file: string; readonly path: string },
  data: TraceData,
  rows: readonly number[],
): Promise<ReadonlyMap<number, Readonly<Record<string, unknown>>>> {
  if (rows.length > MAX_ROWS) throw new InputError(`at most ${MAX_ROWS} rows at once, not ${rows.length}`);
  const blocks = blocksOf(data, rows);
  const texts = new Map<EventBlock, Uint8Array[]>(blocks.map((b) => [b, []]));
  await visitMembers(from.file, async (member) => {
    if (member.path !== from.path) return;
    let at = 0;
    for await (const chunk of member.stream.chunks) {
      for (const block of blocks) {
        const start = Math.max(0, block.from - at);
        const end = Math.min(chunk.length, Math.min(block.to, block.from + LAST_BLOCK_BYTES) - at);
        if (start < end) texts.get(block)!.push(chunk.slice(start, end));
      }
      at += chunk.length;
      const last = blocks.at(-1);
      if (!last || at >= Math.min(last.to, last.from + LAST_BLOCK_BYTES)) break;
    }
  });
  const wanted = new Set(rows);
  const found = new Map<number, Readonly<Record<string, unknown>>>();
  for (const [block, pieces] of texts) {
    for (const [row, event] of eventsOfBlock(block, Buffer.concat(pieces)))
      if (wanted.has(row)) found.set(row, event);
  }
  return found;
}
