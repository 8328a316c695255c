import { printable } from '../../base/printable.js';
import { bytes, formatBytes, formatDuration, seconds } from '../../base/units.js';
import type { ProgressSink } from '../../library/vocabulary.js';
import { type CommandContext, type Output, say } from './output.js';

const SHOW_AFTER_MS = 500;
const EVERY_MS = 100;

export const progressOn = (context: CommandContext): ProgressLine =>
  new ProgressLine(context.stderr, (text) => say(context, text));

/** Shows the rate and the time left of reading that takes longer than a moment. */
export class ProgressLine implements ProgressSink {
  readonly #status: StatusLine;
  readonly #now: () => number;
  readonly note: (text: string) => void;
  #started = 0;
  #updated = 0;
  #files = 0;
  #bytes = 0;

  constructor(out: Terminal, note: (text: string) => void, now: () => number = () => performance.now()) {
    this.#status = new StatusLine(out);
    this.#now = now;
    this.note = note;
  }

  start(files: number, bytes: number): void {
    this.#started = this.#now();
    this.#files = files;
    this.#bytes = bytes;
  }

  update(readBytes: number, doneFiles: number): void {
    const now = this.#now();
    if (now - this.#started < SHOW_AFTER_MS || now - this.#updated < EVERY_MS) return;
    this.#updated = now;
    const rate = (1000 * readBytes) / (now - this.#started);
    const files = this.#files > 1 ? `${doneFiles}/${this.#files} files, ` : '';
    const isSizeKnown = this.#bytes > 0;
    const size = isSizeKnown ? ` of ${formatBytes(bytes(this.#bytes))}` : '';
    const left = seconds(Math.max(0, this.#bytes - readBytes) / rate);
    const end = isSizeKnown && rate > 0 ? `, ${formatDuration(left)} left` : '';
    this.#status.show(
      `reading: ${files}${formatBytes(bytes(readBytes))}${size}, ${formatBytes(bytes(rate))}/s${end}`,
    );
  }

  /** Clears the line. */
  end(): void {
    this.#status.end();
  }
}

/** The parts of an output that a status line needs. */
export type Terminal = Pick<Output, 'isTTY' | 'columns' | 'overwrite'>;

/** One line on a terminal that is overwritten as work goes on. Writes nothing to a pipe or file. */
export class StatusLine {
  readonly #out: Terminal;
  #shown = '';

  constructor(out: Terminal) {
    this.#out = out;
  }

  show(text: string): void {
    const line = printable(text).slice(0, (this.#out.columns ?? 80) - 1);
    if (!this.#out.isTTY || line === this.#shown) return;
    this.#shown = line;
    this.#out.overwrite(line);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shown !== '') this.#out.overwrite('');
    this.#shown = '';
  }
}
