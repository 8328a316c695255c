interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** One line on a terminal that says what is being waited for; nothing elsewhere. */
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
    this.#out.write(`\r\x1b[2K${line}`);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shown !== '') this.#out.write('\r\x1b[2K');
    this.#shown = '';
  }
}
