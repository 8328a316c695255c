import type { Output } from './output.js';

/** Keys that end a view, as in less and top. Raw mode passes Ctrl-C on as a character. */
const QUIT = new Set(['q', 'Q', '\x03']);

/** A terminal whose screen is drawn over and over. What was on it before is there again afterwards. */
export class Screen {
  readonly #output: Output;
  #quit: (() => void) | null = null;
  readonly #onKey = (data: Buffer) => {
    if ([...data.toString('latin1')].some((key) => QUIT.has(key))) this.#quit?.();
  };

  private constructor(output: Output) {
    this.#output = output;
    output.enterScreen();
    // Without a terminal for input there are no keys, but Ctrl-C.
    if (process.stdin.isTTY) process.stdin.setRawMode(true).resume().on('data', this.#onKey);
  }

  /** Null: it is no terminal. */
  static on(output: Output): Screen | null {
    return output.isTTY && process.env.TERM !== 'dumb' ? new Screen(output) : null;
  }

  onQuit(quit: () => void): void {
    this.#quit = quit;
  }

  show(page: string): void {
    this.#output.redraw(page);
  }

  close(): void {
    if (process.stdin.isTTY) process.stdin.off('data', this.#onKey).setRawMode(false).pause();
    this.#output.leaveScreen();
  }
}
