import { readSync } from 'node:fs';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { isSystemError } from '../base/input-error.js';
import { createJoiningReader, type KinetoReader } from '../readers/kineto/descriptor.js';
import { findReader } from '../readers/registry.js';
import { BlockFault } from '../sources/block-inflater.js';
import { encodingOf } from '../sources/encoding.js';
import { rankFromPath } from '../sources/rank-name.js';
import { shownAddress } from '../sources/remote/address.js';
import { HEAD_BYTES, type MemberResult } from './member-reader.js';
import type { OpenBlocks } from './open-blocks.js';

const CHUNK = 256 << 10;
/** Blocks that have to be read in order: this thread does that alone, which takes longer than not to read in blocks at all. */
const MOST_ODD = 4;

/**
 * Reads a trace whose blocks are inflated and scanned by several threads: this one joins what they have read. Null: it is no
 * trace, or something is odd. Nothing is judged here: whoever then reads it in order finds out, and tells.
 */
export async function readBlocks(
  file: string,
  open: OpenBlocks,
  onBytes: (stored: number) => void,
): Promise<MemberResult | null> {
  let isRead = false;
  try {
    const reading = new BlocksReading(open);
    isRead = await reading.run(onBytes);
    return isRead ? reading.result(file) : null;
  } catch (error) {
    // Not even a bug here may cost the file.
    if (process.env.WHYSLOW_DEBUG && !(error instanceof BlockFault) && !isSystemError(error)) throw error;
    return null;
  } finally {
    await open.close(isRead);
  }
}

class BlocksReading {
  readonly #open: OpenBlocks;
  readonly #reader: KinetoReader | null;
  /** The block that is read or joined just now. */
  #block = 0;
  #decoded = 0;

  constructor(open: OpenBlocks) {
    this.#open = open;
    this.#reader = createJoiningReader({ progress: () => this.#stored / open.size });
  }

  /** How far the file will be read with this block. */
  get #stored(): number {
    return this.#open.blocks.starts[this.#block + 1]!;
  }

  /** Whether all of it was read. */
  async run(onBytes: (stored: number) => void): Promise<boolean> {
    const { blocks, threads, fd, size } = this.#open;
    if (this.#reader === null || !this.#readHere(0)) return false;
    let odd = 0;
    for (let block = 1; block < blocks.starts.length - 1; block++) {
      this.#block = block;
      const next = await threads.next(block);
      const { read, by } = next;
      if (read === 'bad' || (read === 'odd' && ++odd > MOST_ODD)) return false;
      if (read === 'odd' ? !this.#readHere(block) : !this.#reader.join(read, by)) return false;
      if (read !== 'odd') this.#decoded += read.length;
      threads.noteJoined(block + 1, next);
      onBytes(this.#stored);
      await turnOfTheLoop();
    }
    // It may have grown since it was opened.
    return readSync(fd, new Uint8Array(1), 0, 1, size) === 0;
  }

  /** Reads a block in this thread. False: it is not the beginning of a trace. */
  #readHere(block: number): boolean {
    const { inflater } = this.#open;
    inflater.open(block);
    const chunk = new Uint8Array(CHUNK);
    for (let made = inflater.read(chunk); made > 0; made = inflater.read(chunk)) {
      const bytes = chunk.subarray(0, made);
      if (this.#decoded === 0 && !isTrace(bytes)) return false;
      this.#reader!.push(bytes);
      this.#decoded += made;
    }
    return true;
  }

  result(file: string): MemberResult {
    const content = this.#reader!.finish();
    const path = shownAddress(file);
    return {
      file,
      path,
      hints: rankFromPath(path),
      storedBytes: this.#open.size,
      decodedBytes: this.#decoded,
      encodings: ['gzip'],
      problems: content.problems,
      content,
    };
  }
}

const isTrace = (head: Uint8Array): boolean =>
  encodingOf(head) === null && findReader(head.subarray(0, HEAD_BYTES))?.id === 'kineto';
