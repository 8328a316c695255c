import { readSync } from 'node:fs';
import type { GzipBlocks } from './gzip-blocks.js';
import { SyncGunzip } from './inflate-sync.js';

/** A gzip header without anything in it. */
const PLAIN_HEADER = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/** An empty deflate block that says that it is the last. */
const LAST_BLOCK = [3, 0];

/** The data of a block is not what it should be, or the file has changed. */
export class BlockFault extends Error {}

/**
 * Inflates single blocks in the calling thread. A part of a member becomes a gzip by itself, with a header and a trailer around
 * it, so that zlib checks it as it checks any gzip.
 */
export class BlockInflater {
  readonly #fd: number;
  readonly #blocks: GzipBlocks;
  readonly #gunzip: SyncGunzip;
  #memory = new Uint8Array(0);
  #packed = this.#memory;
  #at = 0;
  /** Content that the block may still have. */
  #left = 0;

  /** Null where this Node cannot do it. */
  static create(fd: number, blocks: GzipBlocks): BlockInflater | null {
    const gunzip = SyncGunzip.create();
    return gunzip && new BlockInflater(fd, blocks, gunzip);
  }

  private constructor(fd: number, blocks: GzipBlocks, gunzip: SyncGunzip) {
    this.#fd = fd;
    this.#blocks = blocks;
    this.#gunzip = gunzip;
  }

  /** Begins a block. */
  open(block: number): void {
    this.#gunzip.reset();
    this.#at = 0;
    const { starts, parts } = this.#blocks;
    const [from, to] = [starts[block]!, starts[block + 1]!];
    this.#left = parts?.lengths[block] ?? Number.POSITIVE_INFINITY;
    const isLast = block === starts.length - 2;
    const head = parts ? PLAIN_HEADER : [];
    const tail = parts ? trailer(parts.crcs[block]!, this.#left, isLast) : [];
    const packed = this.#room(head.length + to - from + tail.length);
    packed.set(head);
    const read = readSync(this.#fd, packed, head.length, to - from, from);
    if (read !== to - from) throw new BlockFault('the file has become shorter');
    packed.set(tail, head.length + read);
    this.#packed = packed;
  }

  /** Fills `into` with the next content, as much as there is; 0 at the end of the block. Throws BlockFault. */
  read(into: Uint8Array): number {
    const gunzip = this.#gunzip;
    let filled = 0;
    while (filled < into.length) {
      const made = gunzip.inflate(this.#packed, this.#at, into, filled);
      if (gunzip.failed) throw new BlockFault('the block is damaged');
      this.#at = this.#packed.length - gunzip.left;
      filled += made;
      if (made === 0) break;
    }
    this.#left -= filled;
    const isBad = this.#left < 0 || (filled === 0 && !this.#hasEnded());
    if (isBad) throw new BlockFault('the block has another length');
    return filled;
  }

  #hasEnded(): boolean {
    return this.#at === this.#packed.length && this.#gunzip.isComplete(new Uint8Array(64));
  }

  #room(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes > this.#memory.length) this.#memory = new Uint8Array(Math.ceil(bytes * 1.25));
    return this.#memory.subarray(0, bytes);
  }
}

function trailer(crc: number, length: number, isLast: boolean): Uint8Array {
  const end = isLast ? [] : LAST_BLOCK;
  const bytes = new Uint8Array(end.length + 8);
  bytes.set(end);
  const view = new DataView(bytes.buffer);
  view.setUint32(end.length, crc, true);
  view.setUint32(end.length + 4, length, true);
  return bytes;
}
