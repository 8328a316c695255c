import { type CaseScore, type Ratio, share, totalsOf } from './score.js';

/** The sets of recordings in this repository, as docs/accuracy.md names them. */
const TITLES: Readonly<Record<string, string>> = {
  fixtures: 'the first recordings',
  'clean/a': 'a: recorded after the fit',
  'clean/b': 'b: the same programs, other sizes',
  'clean/new': 'new: other loops',
  'clean/unseen': 'unseen: loops of other kinds',
};
const COLUMNS = ['verdict', 'top2', 'first', 'gain', 'inRange', 'step'] as const;
const HEAD = [
  'recordings in the repository',
  'verdict',
  'top-2 fix',
  'first fix',
  'gain within 30%',
  'gain in range',
  'step within 20%',
  'false gains',
];

export interface ScoredSet {
  /** Its folder below zoo/, or another folder. */
  readonly name: string;
  readonly scores: readonly CaseScore[];
}

/** The table of docs/accuracy.md. A test compares them. */
export function accuracyTable(sets: readonly ScoredSet[]): string {
  const all = { title: 'all', scores: sets.flatMap((s) => s.scores) };
  const rows = [
    ...sets.map(({ name, scores }) => ({ title: `${TITLES[name] ?? name} (${scores.length})`, scores })),
    { ...all, title: `all (${all.scores.length})` },
  ].map(({ title, scores }) => {
    const totals = totalsOf(scores);
    return [title, ...COLUMNS.map((name) => ratio(totals[name])), `${totals.falsePromises}`];
  });
  const widths = HEAD.map((head, i) =>
    Math.max(...[head, ...rows.map((row) => row[i]!)].map((c) => c.length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(HEAD), `| ${widths.map((w) => '-'.repeat(w)).join(' | ')} |`, ...rows.map(line)].join('\n');
}

const ratio = (r: Ratio) => `${r.right}/${r.of}, ${Math.round(100 * share(r))}%`;

/** The sentence of the README. */
export function readmeSentence(sets: readonly ScoredSet[]): string {
  const { verdict } = totalsOf(sets.flatMap((s) => s.scores));
  return `${verdict.right} of ${verdict.of} right on the recorded loops in this repository`;
}
