import { InputError } from '../base/input-error.js';
import type { TraceData } from '../model/trace-data.js';
import { blocksOf, type EventBlock, eventsOfBlock } from '../readers/kineto/block-events.js';
import { visitMembers } from '../sources/open.js';

/** Each row costs up to one block of 256 events in memory. */
const MAX_ROWS = 4096;
/** Limit for the last block, whose end is not known. */
const LAST_BLOCK_BYTES = 16 << 20;

/**
 * Reads whole events again from the file, for arguments that are not in columns. Reads the file once, up to the last of the
 * rows. `from` is an entry of `Run.traces`.
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
    let position = 0;
    for await (const chunk of member.stream.chunks) {
      for (const block of blocks) {
        const start = Math.max(0, block.from - position);
        const end = Math.min(chunk.length, Math.min(block.to, block.from + LAST_BLOCK_BYTES) - position);
        if (start < end) texts.get(block)!.push(chunk.slice(start, end));
      }
      position += chunk.length;
      const last = blocks.at(-1);
      if (!last || position >= Math.min(last.to, last.from + LAST_BLOCK_BYTES)) break;
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
