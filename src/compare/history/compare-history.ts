import { mean } from '../../base/statistics.js';
import { type Ms, ms } from '../../base/units.js';
import type { CompareReport, HistoryChange, HistoryPoint } from '../compare-report.js';
import { compareRuns } from '../compare-runs.js';
import { type RunProfile, type Setup, usualStep } from '../run-profile.js';
import { lastChange } from './change-point.js';
import type { HistoryEntry } from './entry.js';

/** Older runs say little about today's machine. */
const MAX_COMPARED = 10;
/** More of them cannot be told apart in a chart. */
const MAX_POINTS = 500;

/**
 * A run against the last good runs of its history on the same set-up, since the step time last changed. Null: there is none.
 */
export function compareWithHistory(entries: readonly HistoryEntry[], run: RunProfile): CompareReport | null {
  const alike = entries.filter((entry) => isAlike(entry.profile.setup, run.setup));
  const usable = (alike.length > 0 ? alike : entries).filter((entry) => entry.good);
  if (usable.length === 0) return null;
  const since = lastChange(usable.map(stepOf)) ?? 0;
  const compared = usable.slice(since).slice(-MAX_COMPARED);
  const all = [
    ...(alike.length > 0 ? alike : entries),
    { time: '', label: run.label, good: true, profile: run },
  ];
  return compareRuns(
    compared.map((entry) => entry.profile),
    [run],
    {
      runs: entries.length,
      compared: compared.length,
      points: all.slice(-MAX_POINTS).map(pointOf),
      change: changeOf(all),
    },
  );
}

/** Nothing that both of them know differs. */
function isAlike(a: Setup, b: Setup): boolean {
  return (['device', 'worldSize', 'batchSize'] as const).every(
    (key) => a[key] === null || b[key] === null || a[key] === b[key],
  );
}

const pointOf = (entry: HistoryEntry): HistoryPoint => ({
  label: entry.label,
  time: entry.time === '' ? null : entry.time,
  step_ms: stepOf(entry),
  good: entry.good,
});

const stepOf = ({ profile }: HistoryEntry): Ms => usualStep(profile);

function changeOf(entries: readonly HistoryEntry[]): HistoryChange | null {
  const steps = entries.map(stepOf);
  const at = lastChange(steps);
  if (at === null) return null;
  const { label, time } = entries[at]!;
  const earlier = lastChange(steps.slice(0, at)) ?? 0;
  return {
    at: label,
    time: time === '' ? null : time,
    before_ms: ms(mean(steps.slice(earlier, at))),
    after_ms: ms(mean(steps.slice(at))),
    since: steps.length - at,
  };
}
