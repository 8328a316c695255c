import type { FileHandle } from 'node:fs/promises';
import { openPlainFile } from '../../launch/small-file.js';

/** What reads the file. */
export interface GrowingSink {
  push(bytes: Buffer): void;
  /** The file was replaced or cut: what comes is its beginning. */
  restart(): void;
}

/** One file that another process still writes, perhaps on another machine. */
export class GrowingFile {
  readonly #sink: GrowingSink;
  readonly #buffer: Buffer;
  #at = 0;
  /** Inode: the file may be replaced. */
  #identity = '';
  isAtEnd = false;
  /** When it was last written, ms since 1970. */
  writtenMs = Number.NaN;

  /** `chunk`: bytes read at a time. */
  constructor(
    readonly path: string,
    sink: GrowingSink,
    chunk: number,
  ) {
    this.#sink = sink;
    this.#buffer = Buffer.alloc(chunk);
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
    const { ino, dev, size, mtimeMs } = await file.stat();
    const identity = `${dev}:${ino}`;
    if ((this.#identity !== '' && identity !== this.#identity) || size < this.#at) {
      this.#at = 0;
      this.#sink.restart();
    }
    this.#identity = identity;
    this.writtenMs = mtimeMs;
    const { bytesRead } = await file.read(this.#buffer, 0, this.#buffer.length, this.#at);
    this.#at += bytesRead;
    this.isAtEnd = bytesRead < this.#buffer.length;
    if (bytesRead > 0) this.#sink.push(this.#buffer.subarray(0, bytesRead));
  }
}
