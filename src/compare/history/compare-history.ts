import { mean } from '../../base/statistics.js';
import { type Ms, ms } from '../../base/units.js';
import type { CompareReport, HistoryChange, HistoryPoint } from '../compare-report.js';
import { compareRuns } from '../compare-runs.js';
import { numberOf, objectOf, profileOfReport, textOf } from '../report-profile.js';
import { NO_SETUP, type RunProfile, type Setup, stepsOfRun, usualStep } from '../run-profile.js';
import { Random } from '../step-times/random.js';
import type { StepVerdict } from '../step-times/step-comparison.js';

const SCHEMA = 'whyslow/history/1';
/** A line stays small; how a run varies over its steps is still seen. */
const MAX_TIMES = 50;

/** One run of a history, one line of the file. */
interface HistoryEntry {
  /** ISO 8601; empty: unknown. */
  readonly time: string;
  readonly label: string;
  /** It was not slower than the runs before it, or somebody accepted it: later runs are compared with it. */
  readonly good: boolean;
  readonly profile: RunProfile;
}

/** The line to append. `verdict` null: the first run. */
export function lineOf(
  profile: RunProfile,
  { time, verdict, accepted }: { time: string; verdict: StepVerdict | null; accepted: boolean },
): string {
  const { step, time: shares, verdict: found, findings, ranks } = profile.report;
  const report = {
    schema: 'whyslow/report/1',
    verdict: {
      bottleneck: found.bottleneck,
      cause: found.cause,
      label: found.label,
      headline: found.headline,
      details: found.details,
      sentence: found.sentence,
    },
    step: { ...step, times_ms: grouped(stepsOfRun(profile)) },
    time: shares,
    findings: findings.map(({ id, rule, title, speedup, saving_ms }) => ({
      id,
      rule,
      title,
      speedup,
      saving_ms,
    })),
    ranks: ranks.map(({ rank, step_ms }) => ({ rank, step_ms })),
  };
  const { device, torch, worldSize, batchSize, command } = profile.setup;
  const setup = { device, torch, world_size: worldSize, batch_size: batchSize, command };
  const good = accepted || verdict !== 'slower';
  return `${JSON.stringify({ schema: SCHEMA, time, label: profile.label, verdict, good, setup, report })}\n`;
}

function grouped(times: readonly number[]): number[] {
  const size = Math.ceil(times.length / MAX_TIMES);
  return Array.from({ length: Math.floor(times.length / size) }, (_, g) =>
    ms(Number(mean(times.slice(g * size, (g + 1) * size)).toPrecision(6))),
  );
}

/** The runs of a history file, oldest first. Lines that are no entry are counted. */
export function entriesOf(text: string): { readonly entries: HistoryEntry[]; readonly broken: number } {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const entries = lines.flatMap((line) => entryOf(line) ?? []);
  return { entries, broken: lines.length - entries.length };
}

function entryOf(line: string): HistoryEntry | null {
  const entry = parsed(line);
  if (entry.schema !== SCHEMA) return null;
  const label = textOf(entry.label);
  const profile = profileOfReport(label, entry.report, setupOf(objectOf(entry.setup)));
  if (!profile || stepsOfRun(profile).length === 0) return null;
  return { time: textOf(entry.time), label, good: entry.good === true, profile };
}

function parsed(line: string) {
  try {
    return objectOf(JSON.parse(line));
  } catch {
    return {};
  }
}

function setupOf(setup: ReturnType<typeof objectOf>): Setup {
  return {
    ...NO_SETUP,
    device: textOf(setup.device) || null,
    torch: textOf(setup.torch) || null,
    worldSize: numberOf(setup.world_size),
    batchSize: numberOf(setup.batch_size),
    command: textOf(setup.command) || null,
  };
}

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
