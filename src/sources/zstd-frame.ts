import type { Chunks, Cursor } from './cursor.js';

/** The header of a zstd frame (RFC 8878, 3.1). */
export type ZstdHeader =
  | { readonly kind: 'data'; readonly bytes: number; readonly window: number; readonly hasChecksum: boolean }
  | { readonly kind: 'skippable'; readonly size: number }
  | { readonly kind: 'short' }
  | { readonly kind: 'unknown' };

/** Magic 4, descriptor 1, window 1, dictionary 4, content size 8. */
export const MAX_HEADER_BYTES = 18;

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;

/** Reads the header at the start of `head`; `short` when the data ends within it. */
export function parseZstdHeader(head: Uint8Array): ZstdHeader {
  if (head.length < 4) return { kind: 'short' };
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const magic = view.getUint32(0, true);
  if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) {
    return head.length < 8 ? { kind: 'short' } : { kind: 'skippable', size: 8 + view.getUint32(4, true) };
  }
  if (magic !== MAGIC) return { kind: 'unknown' };
  if (head.length < 5) return { kind: 'short' };
  const descriptor = head[4]!;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3]!;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6]!;
  const sizeAt = (isSingleSegment ? 5 : 6) + dictionaryBytes;
  const bytes = sizeAt + sizeBytes;
  if (head.length < bytes) return { kind: 'short' };
  const window = isSingleSegment ? contentSize(view, sizeAt, sizeBytes) : windowSize(head[5]!);
  return { kind: 'data', bytes, window, hasChecksum: (descriptor & 4) !== 0 };
}

/** A block decodes to at most this many bytes. */
const MAX_BLOCK_BYTES = 1 << 17;

/** Values of the type of a block. */
const RAW = 0;
const REPEAT = 1; // one byte repeated
const COMPRESSED = 2;

function blockHeader(block: Uint8Array): { isLast: boolean; type: number; size: number } {
  const fields = block[0]! | (block[1]! << 8) | (block[2]! << 16);
  return { isLast: (fields & 1) === 1, type: (fields >> 1) & 3, size: fields >> 3 };
}

/** How many bytes a stored block decodes to, at most. */
export function maxDecoded(block: Uint8Array): number {
  const { type, size } = blockHeader(block);
  return type === COMPRESSED ? MAX_BLOCK_BYTES : size;
}

export const isLastBlock = (block: Uint8Array) => blockHeader(block).isLast;

/** Blocks that decode to less are joined. */
const SMALL_BLOCK = 4096;

/**
 * The same frame with its small blocks joined, as far as they are not compressed. Decoders have a price for each block
 * whatever its size, and a block takes as little as three bytes.
 */
export async function* joinSmallBlocks(frame: Chunks, window: number): AsyncGenerator<Uint8Array> {
  const most = Math.min(window, MAX_BLOCK_BYTES);
  const { done, value: head } = await frame.next();
  if (done) return;
  yield head as Uint8Array;
  let parts: Uint8Array[] = [];
  let joined = 0;
  const flush = function* (isLast: boolean) {
    if (joined === 0 && !isLast) return;
    const fields = (joined << 3) | (RAW << 1) | Number(isLast);
    yield Buffer.concat([Uint8Array.of(fields, fields >> 8, fields >> 16), ...parts]);
    parts = [];
    joined = 0;
  };
  let isChecksum = false;
  for (let next = await frame.next(); !next.done; next = await frame.next()) {
    const block = next.value as Uint8Array;
    const { isLast, type, size } = blockHeader(block);
    if (isChecksum || (type !== RAW && type !== REPEAT) || size > SMALL_BLOCK || size > most) {
      yield* flush(false);
      yield block;
    } else {
      if (joined + size > most) yield* flush(false);
      joined += size;
      if (size > 0) parts.push(type === RAW ? block.subarray(3) : new Uint8Array(size).fill(block[3]!));
      if (isLast) yield* flush(true);
    }
    isChecksum ||= isLast;
  }
  yield* flush(false);
}

/** The header of a data frame that decodes to at most `bytes` bytes, with a window no larger than that needs. */
export function withSmallWindow(head: Uint8Array, bytes: number): Uint8Array {
  const exponent = Math.max(0, Math.ceil(Math.log2(bytes)) - 10);
  const header = parseZstdHeader(head);
  if (header.kind !== 'data' || 2 ** (10 + exponent) >= header.window) return head;
  const descriptor = head[4]!;
  const dictionaryAt = descriptor & 0x20 ? 5 : 6;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3]!;
  // Without the size of the content, and not as a single segment, whose window is that size.
  const start = [...head.subarray(0, 4), descriptor & 0x1f, exponent << 3];
  return Uint8Array.from([...start, ...head.subarray(dictionaryAt, dictionaryAt + dictionaryBytes)]);
}

function windowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function contentSize(view: DataView, at: number, bytes: number): number {
  if (bytes === 1) return view.getUint8(at);
  if (bytes === 2) return view.getUint16(at, true) + 256;
  return bytes === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true));
}

/** Set when the data ended within the frame. */
export interface FrameState {
  isCut: boolean;
}

/**
 * The stored bytes of the data frame at the cursor: header, blocks one by one, checksum. Decoding
 * blocks one by one bounds the memory.
 */
export async function* frameBytes(
  cursor: Cursor,
  header: ZstdHeader & { kind: 'data' },
  state: FrameState,
): AsyncGenerator<Uint8Array> {
  yield await cursor.read(header.bytes);
  for (;;) {
    const head = await cursor.peek(3);
    const { isLast, type, size } = blockHeader(head);
    const stored = 3 + (type === REPEAT ? 1 : size);
    const block = await cursor.read(stored);
    state.isCut = head.length < 3 || block.length < stored;
    if (state.isCut) return;
    yield block;
    if (isLast) break;
  }
  if (!header.hasChecksum) return;
  const checksum = await cursor.read(4);
  state.isCut = checksum.length < 4;
  if (!state.isCut) yield checksum;
}
