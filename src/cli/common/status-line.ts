import { printable } from '../../base/printable.js';
import type { Output } from './output.js';

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
