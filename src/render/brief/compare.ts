import { formatTime } from '../../base/units.js';
import type { CompareReport } from '../../compare/compare-report.js';
import {
  findingLines,
  historyLines,
  lineRows,
  phaseRows,
  rangeText,
  rankRows,
  type TimeRow,
  timeRows,
  workRow,
} from '../compare-rows.js';
import { briefText, firstOf } from './lines.js';

const MOST_ROWS = 4;

/** A comparison as a few lines for a chat: the answer, what changed most, what was fixed and what is new. */
export function briefCompare(report: CompareReport): string {
  const { step, kernels, operators, notes, verdict, sentence } = report;
  return briefText([
    `${sentence} [${verdict}]`,
    `step: ${formatTime(step.before_ms)} → ${formatTime(step.after_ms)}, speedup ${rangeText(step.speedup)} per ${step.per}, ${Math.round(100 * step.level)}% interval`,
    ...(step.more_steps === null ? [] : [`to decide: record ${step.more_steps} steps on each side`]),
    ...(step.more_runs === null ? [] : [`to decide: record ${step.more_runs} runs on each side`]),
    ...historyLines(report),
    ...findingLines(report, true),
    ...rows('time', timeRows(report)),
    ...rows('phase', phaseRows(report)),
    ...rows('line', lineRows(report)),
    ...rows('rank', rankRows(report)),
    ...rows(
      'kernel',
      kernels.map(workRow).map((row) => ({ ...row, name: `${row.name}${row.grid}` })),
    ),
    ...rows('host call', operators.map(workRow)),
    ...notes.map((note) => `note: ${note}`),
  ]);
}

/** Largest change first. */
const rows = (what: string, of: readonly TimeRow[]): string[] =>
  firstOf(
    of.toSorted((a, b) => Math.abs(b.delta ?? 0) - Math.abs(a.delta ?? 0)),
    MOST_ROWS,
    ({ name, before, after, difference }) => `${what} ${name}: ${before} → ${after} (${difference || 'new'})`,
  );
