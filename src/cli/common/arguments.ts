import { InvalidArgumentError } from 'commander';
import { BOTTLENECKS, type Bottleneck, type StepRange } from '../../library/vocabulary.js';

/** Values of options. What is wrong with them is said in words that complete commander's own sentence. */

/** More ranks than any job has; a typing error must not fill the memory. */
const MAX_RANKS = 100_000;

export function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new InvalidArgumentError('it must be a whole number from 1 to 9999.');
  return Number(text);
}

/** Numbers of steps and the like: from `minimum` to more than any job has. */
export const whole = (minimum: number) => (text: string) => {
  if (!/^\d{1,9}$/.test(text) || Number(text) < minimum)
    throw new InvalidArgumentError(`it must be a whole number from ${minimum}.`);
  return Number(text);
};

/** `0.5%` or `0.005`. */
export function share(text: string): number {
  const [, digits, percent] = /^(\d*\.?\d+)\s*(%?)$/.exec(text.trim()) ?? [];
  const value = Number(digits) / (percent ? 100 : 1);
  if (!(value > 0 && value < 1)) throw new InvalidArgumentError('it must be a share such as 0.5% or 0.005.');
  return Number(value.toPrecision(12));
}

/** `3-6`, `3-`, `-6`, `3`. */
export function stepRange(text: string): StepRange {
  const [, from = '', dash = '', to = ''] = /^(\d{0,9})(?:(-)(\d{0,9}))?$/.exec(text.trim()) ?? [];
  if (from === '' && to === '')
    throw new InvalidArgumentError('it must be a range of steps such as 3-6, 3-, -6 or 3.');
  const first = from === '' ? null : Number(from);
  const last = dash === '' ? first : to === '' ? null : Number(to);
  if (first !== null && last !== null && last < first)
    throw new InvalidArgumentError(`the range ends before it starts; did you mean ${last}-${first}?`);
  return { first, last };
}

/** `0,2-5`, in order and without repeats. */
export function rankList(text: string): readonly number[] {
  const ranks = new Set<number>();
  for (const part of text.split(',')) {
    const [, from, to = from] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part.trim()) ?? [];
    if (from === undefined) throw new InvalidArgumentError('it must be a list of ranks such as 0,2-5.');
    const first = Number(from);
    const last = Number(to);
    if (last < first) throw new InvalidArgumentError(`the range ${part.trim()} ends before it starts.`);
    if (ranks.size + last - first >= MAX_RANKS)
      throw new InvalidArgumentError(`at most ${MAX_RANKS} ranks can be listed.`);
    for (let rank = first; rank <= last; rank++) ranks.add(rank);
  }
  return [...ranks].sort((a, b) => a - b);
}

/** `all`, or as `rankList`. */
export const ranksOrAll = (text: string) => (text.trim() === 'all' ? ('all' as const) : rankList(text));

/** `data,comms`. */
export function bottleneckList(text: string): readonly Bottleneck[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !BOTTLENECKS.includes(name as Bottleneck));
  if (wrong !== undefined)
    throw new InvalidArgumentError(
      `"${wrong}" is none of ${BOTTLENECKS.join(', ')}; separate several by commas.`,
    );
  return names as Bottleneck[];
}
