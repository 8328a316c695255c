import { InvalidArgumentError, Option } from 'commander';
import { BOTTLENECKS, type Bottleneck, type Share, type StepRange } from '../../library/vocabulary.js';

/** Parsers of option values. Commander prints their message after `argument '…' is invalid.` */

/** More ranks than any job has. A typing error must not fill the memory. */
const MAX_RANKS = 100_000;

/** A parser of whole numbers in a range. */
export const wholeNumber = (minimum: number, maximum?: number) => (text: string) => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= (maximum ?? Number.POSITIVE_INFINITY)) return value;
  const range = maximum === undefined ? `from ${minimum} up` : `from ${minimum} to ${maximum}`;
  throw new InvalidArgumentError(`It must be a whole number ${range}.`);
};

export const PATHS =
  'files, directories, patterns, s3:// gs:// https://, @list-file, or - for standard input; .gz .zst .tar .zip work too';

/** How an answer is printed. `--json` is short for `--format json`. */
export const formatOption = (...formats: readonly string[]): Option =>
  new Option('--format <name>', 'how to print the answer; brief: at most 60 lines, for a chat or a model')
    .choices(['text', 'brief', ...formats])
    .default('text');

/** A file to write. `-` would become a file of that name. */
export function outFile(text: string): string {
  if (text === '-') throw new InvalidArgumentError('It must be a file: standard output cannot hold it.');
  return text;
}

/** Number of files to read at once. */
export const jobCount = wholeNumber(1, 9999);

/** `0.5%` or `0.005`. */
export function percentage(text: string): number {
  const [, digits, percent] = /^(\d*\.?\d+)\s*(%?)$/.exec(text.trim()) ?? [];
  const value = Number(digits) / (percent ? 100 : 1);
  if (!(value > 0 && value < 1))
    throw new InvalidArgumentError('It must be a percentage such as 0.5%, or a fraction such as 0.005.');
  return Number(value.toPrecision(12));
}

const SECONDS_IN: Readonly<Record<string, number>> = { s: 1, min: 60, m: 60, h: 3600 };

/** `2.50`, of a GPU for an hour. */
export function price(text: string): number {
  const value = /^\d{1,7}(?:\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value > 0))
    throw new InvalidArgumentError('It must be a price per GPU-hour such as 2.50, without a currency.');
  return value;
}

/** `90s`, `10min`, `1h`, as seconds. */
export function duration(text: string): number {
  const [, digits, unit = 's'] = /^(\d+(?:\.\d+)?)\s*(s|min|m|h)?$/.exec(text.trim()) ?? [];
  const value = Number(digits) * SECONDS_IN[unit]!;
  if (!(value > 0)) throw new InvalidArgumentError('It must be a time such as 90s, 10min or 1h.');
  return value;
}

/** `a,b`. */
export function nameList(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw new InvalidArgumentError('It must be a list of names such as a,b.');
  return [...new Set(names)];
}

/** `3-6`, `3-`, `-6`, `3`. */
export function stepRange(text: string): StepRange {
  const [, from = '', dash = '', to = ''] = /^(\d{0,9})(?:(-)(\d{0,9}))?$/.exec(text.trim()) ?? [];
  if (from === '' && to === '')
    throw new InvalidArgumentError('It must be a range of steps such as 3-6, 3-, -6 or 3.');
  const first = from === '' ? null : Number(from);
  const last = dash === '' ? first : to === '' ? null : Number(to);
  if (first !== null && last !== null && last < first)
    throw new InvalidArgumentError(`The range ends before it starts; did you mean ${last}-${first}?`);
  return { first, last };
}

/** `0,2-5`. The result is sorted, without repeats. */
export function rankList(text: string): readonly number[] {
  const ranks = new Set<number>();
  for (const part of text.split(',')) {
    const [, from, to = from] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part.trim()) ?? [];
    if (from === undefined) throw new InvalidArgumentError('It must be a list of ranks such as 0,2-5.');
    const first = Number(from);
    const last = Number(to);
    if (last < first) throw new InvalidArgumentError(`The range ${part.trim()} ends before it starts.`);
    if (ranks.size + last - first >= MAX_RANKS)
      throw new InvalidArgumentError(`At most ${MAX_RANKS} ranks can be listed.`);
    for (let rank = first; rank <= last; rank++) ranks.add(rank);
  }
  return [...ranks].sort((a, b) => a - b);
}

/** `all`, or a list as for `rankList`. */
export const ranksOrAll = (text: string) => (text.trim() === 'all' ? ('all' as const) : rankList(text));

/** `data,comms`. */
export function bottleneckList(text: string): readonly Bottleneck[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !BOTTLENECKS.includes(name as Bottleneck));
  if (wrong !== undefined)
    throw new InvalidArgumentError(
      `"${wrong}" is not one of ${BOTTLENECKS.join(', ')}; separate several with commas.`,
    );
  return names as Bottleneck[];
}

/** `3/64`: the fourth of 64 shares. */
export function fileShare(text: string): Share {
  const [, index, of] = /^(\d{1,6})\/(\d{1,6})$/.exec(text.trim()) ?? [];
  if (index === undefined || Number(index) >= Number(of))
    throw new InvalidArgumentError('It must be a number and a count such as 0/64 … 63/64.');
  return { index: Number(index), of: Number(of) };
}
