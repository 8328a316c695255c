/** The parts of a stream that a status line needs. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const CLEAR_LINE = '\r\x1b[2K';

/** One line on a terminal that is overwritten as work goes on. Writes nothing to a pipe or file. */
export class StatusLine {
  readonly #out: Terminal;
  #shown = '';

  constructor(out: Terminal) {
    this.#out = out;
  }

  show(text: string): void {
    const line = text.slice(0, (this.#out.columns ?? 80) - 1);
    if (!this.#out.isTTY || line === this.#shown) return;
    this.#shown = line;
    this.#out.write(CLEAR_LINE + line);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shown !== '') this.#out.write(CLEAR_LINE);
    this.#shown = '';
  }
}
