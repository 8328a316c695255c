import { upperBound } from './search.js';

/** Text that takes the place of a stretch of another text. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const CONTEXT = 3;

/** Edits that do not overlap, as `git apply` and `patch -p1` read them. `path` is relative to where they are started. */
export function unifiedDiff(path: string, before: string, edits: readonly Edit[]): string {
  const lines = linesOf(before);
  const hunks = hunksOf(changesOf(before, lines, edits));
  if (hunks.length === 0) return '';
  let shift = 0;
  const texts = hunks.map((hunk) => {
    const first = Math.max(0, hunk[0]!.first - CONTEXT);
    const end = Math.min(lines.length, hunk.at(-1)!.end + CONTEXT);
    const out: string[] = [];
    let at = first;
    for (const { first: from, end: to, after } of hunk) {
      for (const line of lines.slice(at, from)) out.push(` ${line}`);
      for (const line of lines.slice(from, to)) out.push(`-${line}`);
      for (const line of after) out.push(`+${line}`);
      at = to;
    }
    for (const line of lines.slice(at, end)) out.push(` ${line}`);
    const grown = hunk.reduce((sum, change) => sum + change.after.length - (change.end - change.first), 0);
    const [old, fresh] = [end - first, end - first + grown];
    const head = `@@ -${old === 0 ? first : first + 1},${old} +${fresh === 0 ? first : first + shift + 1},${fresh} @@\n`;
    shift += grown;
    return head + out.map(whole).join('');
  });
  // A name with a space ends at a tab.
  const end = /\s/.test(path) ? '\t' : '';
  return `--- a/${path}${end}\n+++ b/${path}${end}\n${texts.join('')}`;
}

/** Lines with their ends. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
const whole = (line: string): string =>
  line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`;

/** Lines of the old text, counted from 0, and what takes their place. */
interface Change {
  readonly first: number;
  readonly end: number;
  readonly after: readonly string[];
}

function changesOf(before: string, lines: readonly string[], edits: readonly Edit[]): readonly Change[] {
  const starts: number[] = [];
  for (let i = 0, at = 0; i < lines.length; at += lines[i++]!.length) starts.push(at);
  const lineAt = (offset: number) => Math.max(0, upperBound(starts, offset) - 1);
  const sorted = edits.toSorted((a, b) => a.from - b.from || a.to - b.to);
  const groups: { first: number; last: number; edits: Edit[] }[] = [];
  for (const edit of sorted) {
    const [first, last] = [lineAt(edit.from), lineAt(edit.to)];
    const open = groups.at(-1);
    if (open && first <= open.last + 1) {
      open.last = Math.max(open.last, last);
      open.edits.push(edit);
    } else groups.push({ first, last, edits: [edit] });
  }
  return groups.flatMap(({ first, last, edits }) => {
    const start = starts[first] ?? 0;
    const end = starts[last + 1] ?? before.length;
    const after = withEdits(before, edits, start, end);
    return trimmed(lines, { first, end: Math.min(last + 1, lines.length), after: linesOf(after) });
  });
}

/** Without the lines at both ends that stay as they are. */
function trimmed(lines: readonly string[], { first, end, after }: Change): readonly Change[] {
  let [from, to] = [0, after.length];
  while (first + from < end && from < to && lines[first + from] === after[from]) from++;
  let last = end;
  while (last > first + from && to > from && lines[last - 1] === after[to - 1])
    [last, to] = [last - 1, to - 1];
  const change = { first: first + from, end: last, after: after.slice(from, to) };
  return change.first === change.end && change.after.length === 0 ? [] : [change];
}

/** A stretch of a text with its edits made. */
export function withEdits(text: string, edits: readonly Edit[], from = 0, to = text.length): string {
  let [at, result] = [from, ''];
  for (const edit of edits.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    result += text.slice(at, edit.from) + edit.text;
    at = edit.to;
  }
  return result + text.slice(at, to);
}

/** Changes whose context would overlap are one hunk. */
function hunksOf(changes: readonly Change[]): Change[][] {
  const hunks: Change[][] = [];
  for (const change of changes) {
    const open = hunks.at(-1);
    if (open && change.first - open.at(-1)!.end <= 2 * CONTEXT) open.push(change);
    else hunks.push([change]);
  }
  return hunks;
}
