import { printable } from '../../base/printable.js';
import { columnsOf, showsColor } from './terminal.js';

/** The colours that the renderers add, and how they end. Every other escape sequence is data. */
const ACTIVE = /\x1b\[(?:[0-9]|2[2-9]|[34][0-79]|9[0-7])m|[^\n\x20-\x7e]/g;
const CLEAR_LINE = '\r\x1b[2K';

/**
 * The one way to standard output and standard error. No text from a file or a name acts on the terminal: what does is made
 * visible here. Colours pass only where the renderer was asked for them.
 */
export class Output {
  readonly #stream: NodeJS.WriteStream;
  /** Whether it shows colours. */
  readonly color: boolean;

  constructor(stream: NodeJS.WriteStream, color = showsColor(stream)) {
    this.#stream = stream;
    this.color = color;
  }

  /** Undefined when it is not known. */
  get columns(): number | undefined {
    return columnsOf(this.#stream);
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true;
  }

  /** A rendered page. Its line breaks are ours; `printable` has removed those of names. */
  write(page: string): void {
    const keep = (found: string) => (found.length > 2 && this.color ? found : printable(found));
    this.#stream.write(page.replace(ACTIVE, keep));
  }

  /** One line, whatever is in the text. */
  line(text: string): void {
    this.#stream.write(`${printable(text)}\n`);
  }

  /** Writes over the line that the cursor is in. */
  overwrite(text: string): void {
    this.#stream.write(CLEAR_LINE + printable(text));
  }
}
