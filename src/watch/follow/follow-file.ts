import type { FileHandle } from 'node:fs/promises';
import { openPlainFile } from '../../launch/small-file.js';
import { EventLines } from '../../readers/events/event-lines.js';
import { RankSteps, type StepSink } from '../steps/rank-steps.js';

/** Read at a time. About 20 recorded steps: ranks are followed side by side. */
const CHUNK = 16 << 10;

/** One events file that still grows. */
export class FollowedFile {
  readonly steps: RankSteps;
  readonly #lines: EventLines;
  readonly #buffer = Buffer.alloc(CHUNK);
  #at = 0;
  /** Inode: the file may be replaced. */
  #identity = '';
  isAtEnd = false;

  constructor(
    readonly path: string,
    rank: number,
    sink: StepSink,
  ) {
    this.steps = new RankSteps(rank, sink);
    this.#lines = new EventLines(() => this.steps);
  }

  /** One chunk. Whatever fails, an unreachable folder for one, is tried again later. */
  async read(): Promise<void> {
    this.isAtEnd = true;
    const file = await openPlainFile(this.path);
    if (!file) return;
    try {
      await this.#readFrom(file);
    } catch {
      // A network file system that is away, or a file that was cut meanwhile.
    } finally {
      await file.close().catch(() => {});
    }
  }

  async #readFrom(file: FileHandle): Promise<void> {
    const { ino, dev, size } = await file.stat();
    const identity = `${dev}:${ino}`;
    // Replaced or cut: what is there now is another log.
    if ((this.#identity !== '' && identity !== this.#identity) || size < this.#at) this.#at = 0;
    this.#identity = identity;
    const { bytesRead } = await file.read(this.#buffer, 0, CHUNK, this.#at);
    this.#at += bytesRead;
    this.isAtEnd = bytesRead < CHUNK;
    if (bytesRead > 0) this.#lines.push(this.#buffer.subarray(0, bytesRead));
  }
}
