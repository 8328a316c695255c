import { quoted } from '../../base/printable.js';
import { largest } from '../../base/statistics.js';
import {
  bytes,
  formatBytes,
  formatCount,
  formatDuration,
  formatPercent,
  formatTime,
  ms,
  seconds,
  share,
} from '../../base/units.js';
import type { SpeedupInterval } from '../../compare/step-times/step-comparison.js';
import type { Triable } from '../../remedies/remedies.js';
import type { TrackRecord } from '../../trial/history.js';
import type { LossComparison } from '../../trial/losses.js';
import type { Outcome, SearchedNumber, Trial, TryReport } from '../../trial/trials.js';
import { hanging, oneLine, type Page, type Paint, pageFor, paragraph, same } from './page.js';
import { displayWidth, padToWidth } from './text.js';

export interface TryOptions {
  readonly color: boolean;
  readonly columns?: number | undefined;
  /** Where the patch was asked to go. */
  readonly patch?: string | undefined;
}

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  faster: 'faster',
  slower: 'slower',
  same: 'no difference',
  'cannot-tell': 'inconclusive',
  'not-applicable': 'does not apply',
  crashed: 'crashed',
  'timed-out': 'timed out',
  'not-tried': 'not tried',
};
const LOSSES: Readonly<Record<LossComparison['verdict'], string>> = {
  identical: 'identical',
  rounding: 'equal to rounding',
  differs: 'differ',
  'as-between-runs': 'differ as without it',
  unknown: '–',
};
const HEADING = ['fix', 'predicted', 'measured', 'losses', 'memory', 'outcome'];

/** The table of all trials, the best of them, and the lines to paste. */
export function renderTry(report: TryReport, record: TrackRecord | null, options: TryOptions): string {
  const page = pageFor(options.color, options.columns);
  const { c } = page;
  const lines = [...asItIs(report), '', ...table(report, page), ''];
  if (report.best !== null) {
    const { measured, fix } = report.trials.find((trial) => trial.fix === report.best)!;
    lines.push(c.bold(`Best: ${fix}, ${times(measured!.likely)} (95% between ${range(measured!)}).`));
    push(lines, whatToDo(report, options.patch));
  } else
    lines.push(
      c.bold(report.complete ? 'No fix made the steps measurably faster.' : 'Nothing to recommend yet.'),
    );
  const differing = report.trials.filter((t) => t.outcome === 'faster' && t.losses.verdict === 'differs');
  if (differing.length > 0)
    push(
      lines,
      paragraph(
        `Losses differ with ${differing.map((t) => t.fix).join(', ')}: train long enough to see that the result is still right.${differing.some(isReordered) ? ` ${REORDERED}` : ''}`,
        page,
        '',
      ),
    );
  for (const note of report.notes) push(lines, hanging('- ', note, page, c.dim));
  if (record) push(lines, ['', ...paragraph(recordSentence(record), page, '')]);
  return `${lines.join('\n')}\n`;
}

/** A fix that computes in another way differs from the first step on. */
const isReordered = ({ losses }: TryReport['trials'][number]) => losses.same >= 2;
const REORDERED =
  'Where the first steps are identical, the same samples probably come in another order from then on: workers that are kept draw other random numbers from the second epoch on.';

/** How to make the best of them permanent. */
function whatToDo({ patch, paste, by_hand }: TryReport, file: string | undefined): readonly string[] {
  const pasted = (lead: string, lines: readonly string[]) => [lead, ...lines.map((line) => `    ${line}`)];
  if (patch === null || file === undefined) {
    const lead = pasted('Paste into the script:', paste);
    if (patch !== null) return [...lead, 'Or let --patch fix.diff write it as a patch of your files.'];
    return file === undefined ? lead : [`No patch: where to change the script is not known.`, ...lead];
  }
  const rest = by_hand.length === 0 ? [] : pasted('Not in the patch; paste into the script:', by_hand);
  return ['Apply it:', `    git apply ${quoted(file)}`, ...rest];
}

/** One paragraph each. Where nobody reads them on a terminal, one line each. */
export function renderPoints(lead: string, points: readonly string[], options: TryOptions): string[] {
  if (options.columns === undefined) return points.map((text) => lead + text);
  const page = pageFor(options.color, options.columns);
  return points.flatMap((text) => hanging(lead, text, page));
}

export function renderFixes(fixes: readonly Triable[], options: TryOptions): string {
  const page = pageFor(options.color, options.columns);
  const wide = largest(fixes.map(({ id }) => id.length));
  const lines = fixes.flatMap(({ id, title, risk, answers, alsoFor }) => {
    const findings = [...answers, ...alsoFor].join(', ');
    const about = risk === 'none' ? '' : ` (may change: ${risk})`;
    return [
      ...hanging(`  ${padToWidth(id, wide)}  `, `${title}${about}`, page),
      ...paragraph(`tried for: ${findings}`, page, ' '.repeat(wide + 4), page.c.dim),
    ];
  });
  return `${lines.join('\n')}\n`;
}

function asItIs({ as_it_is, device, torch, ranks, seconds: took }: TryReport): readonly string[] {
  if (as_it_is === null) return ['Unchanged: not measured'];
  const { step_ms, turns, steps, memory_mb } = as_it_is;
  const where = [
    device ?? 'CPU',
    ...(ranks > 1 ? [`${ranks} ranks`] : []),
    ...(torch ? [`torch ${torch}`] : []),
  ];
  const memory = memory_mb === null ? '' : `, ${formatBytes(bytes(memory_mb * 2 ** 20))} at most`;
  return [
    oneLine(
      `Unchanged: ${formatTime(ms(step_ms))} per step (${formatCount(turns, 'turn')}, ${steps} steps${memory})`,
    ),
    oneLine(`On ${where.join(', ')}; all turns took ${formatDuration(seconds(took))}`),
  ];
}

function table(report: TryReport, page: Page): readonly string[] {
  const cells = report.trials.map((trial) => cellsOf(trial, report));
  const used = HEADING.map((_, i) => i).filter((i) => i !== 4 || cells.some((row) => row[4] !== ''));
  const widths = HEADING.map((head, i) => largest([head, ...cells.map((row) => row[i]!)].map(displayWidth)));
  const line = (row: readonly string[]) =>
    used
      .map((i) => padToWidth(row[i]!, widths[i]!))
      .join('  ')
      .trimEnd();
  return [
    page.c.dim(line(HEADING)),
    ...report.trials.flatMap((trial, i) => [
      paintOf(trial.outcome, page)(line(cells[i]!)),
      ...remarksOf(trial).flatMap((text) => paragraph(text, page, '    ', page.c.dim)),
    ]),
  ];
}

const cellsOf = (trial: Trial, { as_it_is }: TryReport): readonly string[] => [
  trial.fixes.length > 1 ? 'together' : trial.fix,
  trial.predicted ? interval(trial.predicted) : '–',
  trial.measured ? interval(trial.measured) : '–',
  lossText(trial.losses),
  trial.memory_mb === null || !as_it_is?.memory_mb
    ? ''
    : signed(share(trial.memory_mb / as_it_is.memory_mb - 1)),
  OUTCOMES[trial.outcome],
];

function remarksOf({
  reason,
  start_s,
  graph_breaks,
  outcome,
  applied,
  fixes,
  fix,
  searched,
  advised,
}: Trial): readonly string[] {
  const breaks = Object.entries(graph_breaks);
  const count = breaks.reduce((sum, [, n]) => sum + n, 0);
  return [
    ...(reason ? [reason] : []),
    ...(fixes.length > 1 ? [fix] : applied.length > 0 && outcome !== 'not-tried' ? [applied.join('; ')] : []),
    ...(searched.length > 1 ? [searchText(searched, advised)] : []),
    ...(start_s === null ? [] : [`the first step ends ${formatDuration(seconds(start_s))} later`]),
    ...(count > 0 ? [`${formatCount(count, 'graph break')}, e.g. ${breaks[0]![0]}`] : []),
  ];
}

/** `tried 2: ×1.94, 4: ×3.1 (advised), 8: crashed`, in the order of the numbers. */
function searchText(searched: readonly SearchedNumber[], advised: number | null): string {
  const parts = searched
    .toSorted((a, b) => a.value - b.value)
    .map(({ value, measured, outcome }) => {
      const gain = measured ? times(measured.likely) : OUTCOMES[outcome];
      return `${value}: ${gain}${value === advised ? ' (advised)' : ''}`;
    });
  return `tried ${parts.join(', ')}`;
}

function paintOf(outcome: Outcome, { c }: Page): Paint {
  if (outcome === 'faster') return c.green;
  if (outcome === 'crashed' || outcome === 'timed-out' || outcome === 'slower') return c.red;
  return outcome === 'not-applicable' || outcome === 'not-tried' ? c.dim : same;
}

function lossText({ verdict, difference, same }: LossComparison): string {
  if (verdict !== 'differs') return LOSSES[verdict];
  if (!Number.isFinite(difference)) return 'no number any more';
  return `differ by ${precise(difference!)}${same >= 2 ? ` from step ${same + 1} on` : ''}`;
}

const precise = (difference: number) =>
  difference < 0.001 ? `${(100 * difference).toPrecision(1)}%` : formatPercent(share(difference));
const signed = (part: number) => `${part < 0 ? '−' : '+'}${Math.abs(100 * part).toFixed(0)}%`;
const times = (value: number) => `×${value.toFixed(value < 10 ? 2 : 1)}`;
const range = ({ low, high }: SpeedupInterval) => `${times(low).slice(1)} and ${times(high).slice(1)}`;
const interval = (speedup: SpeedupInterval) =>
  `${times(speedup.likely)} (${times(speedup.low).slice(1)}–${times(speedup.high).slice(1)})`;

function recordSentence({ pairs, right, error }: TrackRecord): string {
  const count = formatCount(pairs, 'prediction');
  return `So far ${count} ${pairs === 1 ? 'was' : 'were'} tried here: ${right} met the measured range, median error ${formatPercent(share(error))}.`;
}

function push(lines: string[], more: readonly string[]): void {
  for (const line of more) lines.push(line);
}
