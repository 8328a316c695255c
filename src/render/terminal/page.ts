import pc from 'picocolors';
import type { Grade, HealthProblem, Severity } from '../../base/check.js';
import { printable } from '../../base/printable.js';
import { namedRanks } from '../../base/rank-ranges.js';
import { formatNumber } from '../../base/units.js';
import { displayWidth, wrap } from './text.js';

/** Wider lines are hard to read; narrower ones leave no room for tables. */
const MAX_WIDTH = 100;
const MIN_WIDTH = 40;
const PIPED_WIDTH = 80;

export type Colors = ReturnType<typeof pc.createColors>;
export type Paint = (text: string) => string;

/** Where text goes: how wide it may be and whether it takes colors. */
export interface Page {
  readonly width: number;
  readonly c: Colors;
}

/** `columns` is undefined when the output is not a terminal. */
export function pageFor(color: boolean, columns: number | undefined): Page {
  const width = Math.max(MIN_WIDTH, Math.min(columns ?? PIPED_WIDTH, MAX_WIDTH));
  return { width, c: pc.createColors(color) };
}

/** No line ends between a number and its unit. */
const BEFORE_UNIT = /(?<=\d) (?=(?:%|[mµn]?s|min|[kMG]?B(?:\/s)?|MHz|[kMG])(?!\w))/g;

/** One sentence as lines that fit the page. Names from traces in it are made safe to print. */
export function paragraph(text: string, page: Page, indent: string, paint: Paint = same): string[] {
  return wrap(indent + oneLine(text).replace(BEFORE_UNIT, '\u00a0'), page.width, indent)
    .replaceAll('\u00a0', ' ')
    .split('\n')
    .map(paint);
}

/** As `paragraph`, but starts with `lead`, and later lines are indented by its width. */
export function hanging(lead: string, text: string, page: Page, paint: Paint = same): string[] {
  const indent = ' '.repeat(displayWidth(lead));
  const [first, ...rest] = paragraph(text, page, indent);
  return [paint(lead + first!.slice(indent.length)), ...rest.map(paint)];
}

/** `left` and `right` at both ends of one line. If they do not fit, `right` goes below, at `indent`. */
export function bothEnds(
  left: readonly string[],
  right: string,
  page: Page,
  indent: string,
  paint: { readonly left: Paint; readonly right: Paint },
): string[] {
  const [only] = left;
  const gap = page.width - displayWidth(only ?? '') - displayWidth(right);
  if (left.length === 1 && gap >= 2) return [paint.left(only!) + ' '.repeat(gap) + paint.right(right)];
  const below = wrap(indent + right, page.width, indent).split('\n');
  return [...left.map(paint.left), ...below.map(paint.right)];
}

/** Untrusted text on one line. */
export const oneLine = (text: string): string => printable(text.replace(/\s+/g, ' ').trim());

export const same: Paint = (text) => text;

/** Code to paste. Lines and indentation are kept; a comment that makes its line too long moves above it. */
export function codeLines(code: string, page: Page, indent: string): string[] {
  return code
    .trimEnd()
    .split('\n')
    .flatMap((line) => narrowed(indent + printable(line.replaceAll('\t', '    ')), page.width));
}

/** Its arguments are the user's own words, which may look like anything. */
const OURS = /^ *whyslow /;
/** Pasted in two lines it would be two commands. The terminal wraps it as one. */
const COMMAND =
  /^ *(?:\w+=\S+ )*(?:whyslow|python|torchrun|nsys|ncu|py-spy|nvidia-smi|all_reduce_perf|export|dmesg|docker|ssh) /;

function narrowed(line: string, width: number): string[] {
  if (displayWidth(line) <= width) return [line];
  const indent = /^ */.exec(line)![0];
  const isComment = line.startsWith('#', indent.length);
  const comment = isComment || OURS.test(line) ? -1 : line.lastIndexOf(' # ');
  if (comment > 0) {
    const above = indent + line.slice(comment + 1);
    return [...narrowed(above, width), ...narrowed(line.slice(0, comment).trimEnd(), width)];
  }
  if (COMMAND.test(line)) return [line];
  // A call may be broken between its arguments; every line of a comment needs its own `#`.
  return wrap(line, width, isComment ? `${indent}# ` : `${indent}    `).split('\n');
}

export function gradePaint(grade: Grade, c: Colors): Paint {
  return { good: c.green, usable: c.yellow, poor: c.red }[grade];
}

/** A problem, where it is, and what it means for the figures. */
export function healthProblem(problem: HealthProblem, severalRanks: boolean, page: Page): string[] {
  const { c } = page;
  const mark: Record<Severity, string> = { severe: c.red('✗'), warning: c.yellow('!'), note: c.dim('·') };
  const times = problem.count > 1 ? ` (${formatNumber(problem.count)} ×)` : '';
  const position = problem.first ? ` [${problem.first.unit.replace('-', ' ')} ${problem.first.at}]` : '';
  const ranks = problem.ranks.length > 0 && severalRanks ? ` on ${namedRanks(problem.ranks)}` : '';
  const text = `${problem.code}: ${problem.message}${times}${ranks}${position} → ${problem.consequence}`;
  return hanging('    ', text, page).map((line, i) =>
    i === 0 ? `  ${mark[problem.severity]} ${line.slice(4)}` : line,
  );
}
