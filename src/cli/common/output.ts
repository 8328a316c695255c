import { printable } from '../../base/printable.js';
import { asAscii, showsUnicode } from './ascii.js';
import { columnsOf, showsColor } from './terminal.js';

/** The colors that the renderers add, and how they end. Every other escape sequence is data. */
const ACTIVE = /\x1b\[(?:[0-9]|2[2-9]|[34][0-79]|9[0-7])m|[^\n\x20-\x7e]/g;
const CLEAR_LINE = '\r\x1b[2K';

/**
 * The one way to standard output and standard error. No text from a file or a name acts on the terminal: what does is made
 * visible here. Colors pass only where the renderer was asked for them.
 */
export class Output {
  readonly #stream: NodeJS.WriteStream;
  /** Whether it shows colors. */
  readonly color: boolean;
  readonly #spelled: (text: string) => string;

  constructor(stream: NodeJS.WriteStream, color = showsColor(stream), unicode = showsUnicode()) {
    this.#stream = stream;
    this.color = color;
    this.#spelled = unicode ? (text) => text : asAscii;
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
    this.#stream.write(this.#spelled(this.#safe(page)));
  }

  /** For other programs: the same in every locale. */
  writeJson(json: string): void {
    this.#stream.write(this.#safe(json));
  }

  /** One line, whatever is in the text. */
  line(text: string): void {
    this.#stream.write(`${this.#spelled(printable(text))}\n`);
  }

  #safe(page: string): string {
    return page.replace(ACTIVE, (found) => (found.length > 2 && this.color ? found : printable(found)));
  }

  /** Writes over the line that the cursor is in. */
  overwrite(text: string): void {
    this.#stream.write(CLEAR_LINE + this.#spelled(printable(text)));
  }
}
