import type { ProgressSink } from '../../library/vocabulary.js';
import { formatBytes, formatSeconds } from '../../render/terminal/format.js';

const SHOW_AFTER_MS = 500;
const EVERY_MS = 100;

interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** One line on a terminal with rate and time left, for work that takes longer than a moment; nothing elsewhere. */
export class ProgressLine implements ProgressSink {
  readonly #out: Terminal;
  readonly #now: () => number;
  #started = 0;
  #last = 0;
  #files = 0;
  #bytes = 0;
  #shown = false;

  constructor(out: Terminal, now: () => number = () => performance.now()) {
    this.#out = out;
    this.#now = now;
  }

  start(files: number, bytes: number): void {
    this.#started = this.#now();
    this.#files = files;
    this.#bytes = bytes;
  }

  update(bytes: number, files: number): void {
    const now = this.#now();
    if (!this.#out.isTTY || now - this.#started < SHOW_AFTER_MS || now - this.#last < EVERY_MS) return;
    this.#last = now;
    this.#shown = true;
    this.#out.write(`\r\x1b[2K${this.#line(bytes, files, (now - this.#started) / 1000)}`);
  }

  #line(bytes: number, files: number, seconds: number): string {
    const rate = bytes / seconds;
    const done = this.#files > 1 ? `${files}/${this.#files} files, ` : '';
    const known = this.#bytes > 0;
    const of = known ? ` of ${formatBytes(this.#bytes)}` : '';
    const left = known && rate > 0 ? `, ${formatSeconds(Math.max(0, this.#bytes - bytes) / rate)} left` : '';
    const line = `reading: ${done}${formatBytes(bytes)}${of}, ${formatBytes(rate)}/s${left}`;
    return line.slice(0, (this.#out.columns ?? 80) - 1);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shown) this.#out.write('\r\x1b[2K');
    this.#shown = false;
  }
}
