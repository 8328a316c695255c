import { existsSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import type { GzipBlocks } from '../sources/gzip-blocks.js';
import { startThreads } from '../sources/start-thread.js';
import { type BlockTask, type FromBlockThread, JOINED, NEXT } from './block-messages.js';

/** What became of a block, and which of the threads read it. */
export type BlockRead = Pick<FromBlockThread, 'read'> & { readonly by: number };

const BAD: BlockRead = { read: 'bad', by: 0 };

/** Threads that read the blocks of one file from the second on. */
export class BlockThreads {
  readonly #threads: readonly Worker[];
  readonly #counters: Int32Array;
  readonly #arrived = new Map<number, BlockRead>();
  #hasFailed = false;
  #wake = () => {};

  /** Null: there is no code for them, as in tests of the sources and in tasks of an engine. The bundle has it beside this module. */
  static start(fd: number, blocks: GzipBlocks, count: number): BlockThreads | null {
    const script = new URL('./block-worker.js', import.meta.url);
    if (!existsSync(script)) return null;
    const counters = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
    counters[NEXT] = 1;
    const workerData: BlockTask = { fd, blocks, counters };
    return new BlockThreads(startThreads(script, count, { workerData }), counters);
  }

  private constructor(threads: readonly Worker[], counters: Int32Array) {
    this.#threads = threads;
    this.#counters = counters;
    threads.forEach((thread, by) => {
      thread.on('message', ({ block, read }: FromBlockThread) => {
        this.#arrived.set(block, { read, by });
        this.#wake();
      });
      thread.on('error', () => {
        this.#hasFailed = true;
        this.#wake();
      });
      // It must not keep the process alive if nobody reads the file after all.
      thread.unref();
    });
  }

  /** Waits for this block. Ask for all from 1 on, in order. */
  async next(block: number): Promise<BlockRead> {
    for (const thread of this.#threads) thread.ref();
    for (;;) {
      const read = this.#arrived.get(block);
      this.#arrived.delete(block);
      if (read) return read;
      if (this.#hasFailed) return BAD;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The threads may go on to further blocks, and the one that read the last one may use its memory again. */
  noteJoined(blocks: number, { read, by }: BlockRead): void {
    if (typeof read === 'object') {
      const memory = read.batches.map((batch) => batch.dur.buffer as ArrayBuffer);
      for (const buffer of memory) this.#threads[by]!.postMessage(buffer, [buffer]);
    }
    Atomics.store(this.#counters, JOINED, blocks);
    Atomics.notify(this.#counters, JOINED);
  }

  /** Once this is done the threads no longer read the file. Those that have read all blocks end by themselves. */
  async stop(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }
}
