import pc from 'picocolors';
import { printable } from '../../base/printable.js';
import { formatNumber } from '../../base/units.js';
import type { Problem } from '../../library/vocabulary.js';

/** What every command gets from main.ts. */
export interface CommandContext {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Sets the exit code of a command that did not throw. A failure to print the result still changes it. */
  exitWith(code: number): void;
  /** Sets the exit code for good: that of the job that `run` started. */
  exitAsJob(code: number): void;
}

/** A message on the standard error output. More lines continue the first. */
export function say({ stderr }: CommandContext, text: string, more: readonly string[] = []): void {
  stderr.line(`whyslow: ${text}`);
  for (const line of more) stderr.line(line);
}

/** Exit codes, as docs/usage.md promises them. */
export const EXIT = { done: 0, gateFailed: 1, badInput: 2, noVerdict: 3 } as const;

/** What was wrong with the files, a line each, in the words of the report. */
export function sayProblems(problems: readonly Problem[], context: CommandContext): void {
  for (const { message, consequence, count } of problems) {
    const often = count > 1 ? ` (${formatNumber(count)} times)` : '';
    say(context, `${message.replace(/\.$/, '')}${often} → ${consequence.replace(/\.$/, '')}`);
  }
}

/** The colors that the renderers add, and how they end. Every other escape sequence is data. */
const ACTIVE = /\x1b\[(?:[0-9]|2[2-9]|[34][0-79]|9[0-7])m|[^\n\x20-\x7e]/g;
const CLEAR_LINE = '\r\x1b[2K';
/** The other screen of the terminal, without a cursor; and back. */
const ENTER_SCREEN = '\x1b[?1049h\x1b[?25l';
const LEAVE_SCREEN = '\x1b[?25h\x1b[?1049l';
const [HOME, CLEAR_TO_END_OF_LINE, CLEAR_BELOW] = ['\x1b[H', '\x1b[K', '\x1b[J'];

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

  /** Undefined when it is no terminal. */
  get rows(): number | undefined {
    return this.#stream.rows || undefined;
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

  enterScreen(): void {
    this.#stream.write(ENTER_SCREEN);
  }
  leaveScreen(): void {
    this.#stream.write(LEAVE_SCREEN);
  }
  /** Draws over what is on the screen. Lines that do not fit are left out: the terminal would scroll. */
  redraw(page: string): void {
    const lines = this.#spelled(this.#safe(page)).trimEnd().split('\n').slice(0, this.rows);
    this.#stream.write(
      `${HOME}${lines.join(`${CLEAR_TO_END_OF_LINE}\n`)}${CLEAR_TO_END_OF_LINE}${CLEAR_BELOW}`,
    );
  }

  #safe(page: string): string {
    return page.replace(ACTIVE, (found) => (found.length > 2 && this.color ? found : printable(found)));
  }

  /** Writes over the line that the cursor is in. */
  overwrite(text: string): void {
    this.#stream.write(CLEAR_LINE + this.#spelled(printable(text)));
  }
}

type Variables = Readonly<Record<string, string | undefined>>;

/** By the first of the variables that is set, as in C libraries. Containers set none of them, and show UTF-8. */
export function showsUnicode(env: Variables = process.env): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG;
  return !locale || /utf-?8/i.test(locale);
}

/** What our own texts use. None becomes a quotation mark or a backslash: JSON stays JSON. */
const ASCII: Readonly<Record<string, string>> = {
  '–': '-',
  '—': '-',
  '−': '-',
  '’': "'",
  '“': "'",
  '”': "'",
  '…': '...',
  µ: 'u',
  '×': 'x',
  '÷': '/',
  '·': '|',
  '→': '->',
  '°': ' deg ',
  '≥': '>=',
  '≤': '<=',
  '∞': 'inf',
  '²': '2',
  '✗': 'x',
};
const OWN = new RegExp(`[${Object.keys(ASCII).join('')}]`, 'g');
/** Heights of bars, in order. */
const BARS = /[▁-█]/g;
const barHeight = (bar: string) => String(bar.charCodeAt(0) - '▁'.charCodeAt(0) + 1);

/** For a terminal that is not UTF-8. Names of files and kernels stay as they are: other characters would name others. */
export const asAscii = (text: string): string =>
  text.replace(OWN, (found) => ASCII[found]!).replace(BARS, barHeight);

type Target = Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>;

/** FORCE_COLOR asks for colors in a pipe too. NO_COLOR and TERM=dumb turn them off. */
export const showsColor = ({ isTTY }: Target, env: Variables = process.env): boolean =>
  pc.isColorSupported && (isTTY === true || Boolean(env.FORCE_COLOR));

/** Undefined: unknown. A terminal without a size says 0; COLUMNS may know better, in a pipe too. */
export function columnsOf({ columns }: Target, env: Variables = process.env): number | undefined {
  const given = /^\d{1,4}$/.test(env.COLUMNS ?? '') ? Number(env.COLUMNS) : 0;
  return columns || given || undefined;
}
