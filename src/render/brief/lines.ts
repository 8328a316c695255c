import { printable } from '../../base/printable.js';

/** A brief answer fits on a screen and into the context of a model. */
export const MOST_LINES = 60;
/** Names come from files and may be of any length. */
const MOST_CHARACTERS = 400;

/** Lines of text without drawing: one statement each, never wrapped. What does not fit is counted. */
export function briefText(lines: readonly string[]): string {
  const shown = lines.length > MOST_LINES ? lines.slice(0, MOST_LINES - 1) : lines;
  const left = lines.length - shown.length;
  return `${[...shown.map(shortened), ...(left > 0 ? [`… ${left} more lines (--format json has all)`] : [])].join('\n')}\n`;
}

function shortened(line: string): string {
  const text = printable(line);
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text;
}

/** The first few, and how many there are beyond them. */
export function firstOf<T>(
  items: readonly T[],
  most: number,
  line: (item: T, index: number) => string,
): string[] {
  const left = items.length - most;
  return [...items.slice(0, most).map(line), ...(left > 0 ? [`… and ${left} more`] : [])];
}

/** The lines of a fix, indented below its title. */
export const codeOf = (code: string | null, most: number): string[] =>
  code === null
    ? []
    : firstOf(
        code.split('\n').filter((line) => line.trim() !== ''),
        most,
        (line) => `   | ${line}`,
      );
