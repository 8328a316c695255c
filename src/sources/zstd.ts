import * as zlib from 'node:zlib';
import { Decompress } from 'fzstd';
import { decode, ZLIB_OPTIONS, type ZlibStream } from './careful-decode.js';
import { type Chunks, Cursor } from './cursor.js';
import type { Faults } from './faults.js';
import type { Layer } from './layer.js';
import {
  type FrameState,
  frameBytes,
  isLastBlock,
  joinSmallBlocks,
  MAX_HEADER_BYTES,
  maxDecoded,
  parseZstdHeader,
  withSmallWindow,
} from './zstd-frame.js';

/** Decodes the stored bytes of one frame. */
export interface FrameDecoder {
  /** Frames with a larger window, in bytes, are refused: the window is held in memory. */
  readonly maxWindow: number;
  /** Returns what is wrong with the bytes, or null. */
  decode(bytes: Chunks): AsyncGenerator<Uint8Array, string | null>;
}

type CreateZstd = (options: object) => ZlibStream;

/**
 * The content of a zstd file: any number of frames, without the skippable ones. Frames are split here because Node's decoder
 * silently stops after the first one (nodejs/node#64741).
 */
export async function* unzstd(
  layer: Layer,
  faults: Faults,
  decoder: FrameDecoder = chooseDecoder(),
): AsyncGenerator<Uint8Array> {
  const { cursor } = layer;
  try {
    for (let frames = 0; ; frames++) {
      const head = await cursor.peek(MAX_HEADER_BYTES);
      if (head.length === 0) return;
      const header = parseZstdHeader(head);
      if (header.kind === 'unknown') {
        if (frames > 0) return faults.addTrailing('zstd', layer.stored());
        return reportDamage(layer, faults, 'no frame was found');
      }
      if (header.kind === 'short') return faults.addTruncated('zstd', layer.stored());
      if (header.kind === 'skippable') {
        if ((await cursor.skip(header.size)) < header.size)
          return faults.addTruncated('zstd', layer.stored());
        continue;
      }
      const { window } = header;
      if (window > decoder.maxWindow) return reportWindow(layer, faults, window, decoder.maxWindow);
      const state: FrameState = { isCut: false };
      const damage = yield* decoder.decode(joinSmallBlocks(frameBytes(cursor, header, state), window));
      if (state.isCut) return faults.addTruncated('zstd', layer.stored());
      if (damage === TOO_SLOW) return reportSlow(layer, faults);
      if (damage !== null) return reportDamage(layer, faults, damage);
    }
  } finally {
    await cursor.close();
  }
}

/** Node's own decoder (22.15 and later), which runs on the thread pool; else fzstd, in JavaScript. */
function chooseDecoder(): FrameDecoder {
  const create = (zlib as { createZstdDecompress?: CreateZstd }).createZstdDecompress;
  return create === undefined ? fzstdDecoder : nativeDecoder(create);
}

function nativeDecoder(create: CreateZstd): FrameDecoder {
  const windowLog = 28; // 256 MiB
  const { ZSTD_d_windowLogMax } = zlib.constants as { ZSTD_d_windowLogMax?: number };
  return {
    maxWindow: 2 ** windowLog,
    async *decode(bytes) {
      const params = { [ZSTD_d_windowLogMax as number]: windowLog };
      const stream = create({ ...ZLIB_OPTIONS, params });
      const { error } = yield* decode(stream, new Cursor(bytes), 0, { consumed: 0 });
      return error?.message ?? null;
    },
  };
}

/**
 * About 200 MB/s, on the calling thread. It misreads offsets above 25 bits, hence the limit on the window. It does not verify
 * the checksum of the content.
 */
export const fzstdDecoder: FrameDecoder = {
  maxWindow: 2 ** 25,
  async *decode(bytes) {
    const made: Uint8Array[] = [];
    const frame = new Decompress((chunk) => chunk.length > 0 && made.push(chunk));
    const ahead = await readAhead(bytes);
    const header = parseZstdHeader(ahead[0] ?? EMPTY);
    const window = header.kind === 'data' ? header.window : 0;
    let moved = 0;
    let decoded = 0;
    for (;;) {
      const { done, value } = ahead.length > 0 ? { done: false, value: ahead.shift() } : await bytes.next();
      const damage = push(frame, done ? EMPTY : (value as Uint8Array), done === true);
      decoded += made.reduce((n, chunk) => n + chunk.length, 0);
      yield* made.splice(0);
      if (done || damage !== null) return damage;
      moved += window;
      if (moved > MAX_MOVED + MAX_MOVED_PER_BYTE * decoded) return TOO_SLOW;
    }
  },
};

const EMPTY = new Uint8Array(0);

/**
 * fzstd moves its whole window for each block, 5 to 10 GB per second. Full blocks in the largest window move 256 bytes for each
 * byte decoded; a frame of small blocks may move millions.
 */
const MAX_MOVED = 32 * 2 ** 30;
const MAX_MOVED_PER_BYTE = 512;
/** Returned instead of what is wrong with the data. */
const TOO_SLOW = 'too slow';

/** Blocks to look at before decoding: up to 2 MiB. */
const AHEAD = 16;

/**
 * The header and the first blocks of a frame. fzstd fills its window for each frame and moves it for each block, so a small
 * frame with a window of 32 MiB takes 33 ms: it gets the window that its blocks can fill.
 */
async function readAhead(bytes: Chunks): Promise<Uint8Array[]> {
  const { done, value: head } = await bytes.next();
  if (done) return [];
  const blocks: Uint8Array[] = [];
  let decoded = 0;
  while (blocks.length < AHEAD) {
    const { done, value } = await bytes.next();
    if (done) break;
    const block = value as Uint8Array;
    blocks.push(block);
    decoded += maxDecoded(block);
    if (isLastBlock(block)) return [withSmallWindow(head as Uint8Array, decoded), ...blocks];
  }
  return [head as Uint8Array, ...blocks];
}

/** Whatever fzstd throws is about the data; damaged data may also cause any error of typed arrays. */
function push(frame: Decompress, bytes: Uint8Array, isLast: boolean): string | null {
  try {
    frame.push(bytes, isLast);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function reportDamage(layer: Layer, faults: Faults, damage: string): void {
  const message = `The zstd data is damaged: ${damage}.`;
  const consequence = 'Everything before the damage was read; the rest is missing.';
  faults.add('corrupt-zstd', { message, consequence }, layer.stored());
}

function reportSlow(layer: Layer, faults: Faults): void {
  const message = 'The zstd data consists of very many small blocks, which take too long to decode here.';
  const consequence =
    'Everything before this point was read; unpack it with `zstd -d`, or use Node 22.15 or later.';
  faults.add('zstd-small-blocks', { message, consequence }, layer.stored());
}

function reportWindow(layer: Layer, faults: Faults, window: number, max: number): void {
  const mib = (bytes: number) => Math.ceil(bytes / 2 ** 20);
  const message = `The zstd data needs a window of ${mib(window)} MiB to decode; the limit here is ${mib(max)} MiB.`;
  const consequence = 'It was not read: unpack it with `zstd -d --long=31`, or use Node 22.15 or later.';
  faults.add('zstd-window-too-large', { message, consequence }, layer.stored());
}
