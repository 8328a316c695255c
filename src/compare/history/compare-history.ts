import { mean } from '../../base/statistics.js';
import { type Ms, ms } from '../../base/units.js';
import type { CompareReport, HistoryChange, HistoryPoint } from '../compare-report.js';
import { compareRuns } from '../compare-runs.js';
import { type RunProfile, type Setup, usualStep } from '../run-profile.js';
import { Random } from '../step-times/random.js';
import type { HistoryEntry } from './entry.js';

/** Older runs say little about today's machine. */
const MAX_COMPARED = 10;
/** More of them cannot be distinguished in a chart. */
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

/** Fewer runs on a side of a change do not show that it lasts. */
const MIN_RUNS = 3;
/** Smaller changes do not matter. */
const LEAST = 0.01;
/** How often runs in random order may look as changed as these. */
const ACCEPTED = 0.01;
const SHUFFLES = 999;

/**
 * The first run after the last lasting change of a series of step times, oldest first. Null: none. The split that explains
 * most, if the same runs in random order hardly ever split as well; then the runs after it are looked at again.
 */
export function lastChange(steps: readonly number[]): number | null {
  const logs = steps.map(Math.log);
  const found = changeIn(logs);
  if (found === null) return null;
  const later = lastChange(steps.slice(found));
  return later === null ? found : found + later;
}

function changeIn(logs: readonly number[]): number | null {
  if (logs.length < 2 * MIN_RUNS) return null;
  // By rank: one run on a busy machine must not hide a change.
  const order = ranksOf(logs);
  const best = bestSplit(order);
  const difference = mean(logs.slice(best.at)) - mean(logs.slice(0, best.at));
  if (Math.abs(difference) < LEAST) return null;
  const random = new Random(logs.length);
  let asGood = 1;
  for (let i = 0; i < SHUFFLES; i++) {
    shuffle(order, random);
    if (bestSplit(order).explained >= best.explained) asGood++;
  }
  return asGood / (SHUFFLES + 1) <= ACCEPTED ? best.at : null;
}

function ranksOf(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return values.map((value) => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2);
}

/** Where the means of both parts differ most, weighted by how many runs they have. */
function bestSplit(values: readonly number[]): { at: number; explained: number } {
  const n = values.length;
  const total = values.reduce((a, b) => a + b, 0);
  let best = { at: MIN_RUNS, explained: -1 };
  let sum = 0;
  for (let at = 1; at <= n - MIN_RUNS; at++) {
    sum += values[at - 1]!;
    if (at < MIN_RUNS) continue;
    const explained = (sum / at - (total - sum) / (n - at)) ** 2 * at * (n - at);
    if (explained > best.explained) best = { at, explained };
  }
  return best;
}

function shuffle(values: number[], random: Random): void {
  for (let i = values.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [values[i], values[j]] = [values[j]!, values[i]!];
  }
}
