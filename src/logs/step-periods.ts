import { median } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import { findLayout, type Layout } from './layout.js';
import type { GapPeriods } from './pace.js';
import { type PhaseRole, WAIT_ROLES } from './phases.js';
import {
  type Amounts,
  amountsOf,
  type Part,
  type RankRecords,
  type RecordedStep,
  total,
} from './step-records.js';

export type EventStepSource = 'training_step' | 'start-times' | 'sum-of-phases';

/** The steps that count and how long each took. The lists are parallel. */
export interface StepPeriods {
  readonly source: EventStepSource;
  readonly layout: Layout;
  readonly steps: readonly RecordedStep[];
  readonly amounts: readonly Amounts[];
  readonly ns: readonly Ns[];
  /** Start of each step. Null unless periods come from start times, or from whole iterations with a known start. */
  readonly starts: readonly number[] | null;
  /** Steps that were left out as warm-up. */
  readonly warmUp: number;
  readonly gaps: GapPeriods;
}

/** In ns. Anything shorter is not a step. */
const MIN_STEP = 1;
/** With fewer pairs of consecutive steps, they are consecutive by chance of the sampling. */
const ENOUGH_PAIRS = 3;
/**
 * With so many steps whose successor was not recorded, the pairs are only the start of the log: timing just them would leave
 * the other steps out. dense-head.ts does not prevent this: it keeps a head that is like the rest, and knows only our own logs.
 */
const ENOUGH_ALONE = 5;
/** `training_step` is the whole iteration if it lasts until the next one begins, with this tolerance in most pairs. */
const LASTS_UNTIL_NEXT = 0.05;
/** Not in all: the first steps are not yet regular. */
const MOST_PAIRS = 0.75;
/** A phase that this share of the steps has belongs to every step: one without it was cut, or lost a record. */
const REGULAR = 0.9;

interface Timed {
  readonly step: RecordedStep;
  readonly amounts: Amounts;
}
interface Candidate extends Timed {
  readonly ns: number;
  readonly start: number;
}

/**
 * Step times from the starts of consecutive steps, else from `training_step`, else from the sum of phases. Null: the log
 * has no usable step.
 */
export function findPeriods(records: RankRecords): StepPeriods | null {
  const all = records.steps.map((step) => ({ step, amounts: amountsOf(records, step) }));
  const withWhole = all.filter((c) => total(c.amounts, ['whole']) >= MIN_STEP);
  const starts = startsOfSteps(records);
  const pairs = consecutive(all, starts);
  const manyPairs =
    pairs.length >= ENOUGH_PAIRS || (pairs.length > 0 && pairs.length >= withWhole.length - 1);
  if (manyPairs && !(withWhole.length >= pairs.length + ENOUGH_ALONE && lastUntilTheNext(pairs)))
    return finish('start-times', records, pairs, starts);
  if (manyPairs || withWhole.length * 2 >= all.length) {
    // Whether waits are inside is decided later; a warm-up step is long either way.
    const longest = (a: Amounts) => total(a, ['whole', ...WAIT_ROLES]);
    const steps = withWhole.map((c) => ({ ...c, ns: longest(c.amounts), start: Number.NaN }));
    return finish('training_step', records, steps, starts);
  }
  return finish('sum-of-phases', records, summed(records, all), starts);
}

function finish(
  source: EventStepSource,
  records: RankRecords,
  candidates: readonly Candidate[],
  allStarts: readonly number[],
): StepPeriods | null {
  if (candidates.length === 0) return null;
  const warmUp = countWarmUp(
    candidates.map((c) => c.ns),
    candidates.map((c) => total(c.amounts, ['data'])),
  );
  const kept = candidates.slice(warmUp);
  const steps = kept.map((c) => c.step);
  const amounts = kept.map((c) => c.amounts);
  const layout = findLayout(records, steps, amounts);
  const isWhole = source === 'training_step' && layout === 'whole';
  const ownStarts = source === 'start-times' ? kept.map((c) => c.start) : null;
  return {
    source,
    layout,
    steps,
    amounts,
    ns: kept.map((c) => ns(isWhole ? total(c.amounts, ['whole']) : c.ns)),
    starts: isWhole ? wholeStarts(records, steps) : ownStarts,
    warmUp,
    gaps: gapPeriods(records, allStarts, steps[0]),
  };
}

/** The same steps in records that still include the time outside training. Null: their start is unknown. */
export function onWallClock(recorded: RankRecords, periods: StepPeriods): StepPeriods | null {
  const byNumber = new Map(recorded.steps.map((s, i) => [s.number, i]));
  const indices = periods.steps.map((s) => byNumber.get(s.number)!);
  const steps = indices.map((i) => recorded.steps[i]!);
  const amounts = steps.map((s) => amountsOf(recorded, s));
  if (periods.source === 'training_step') {
    const starts = periods.starts && wholeStarts(recorded, steps);
    return starts && { ...periods, steps, amounts, starts, ns: amounts.map((a) => ns(total(a, ['whole']))) };
  }
  if (periods.source !== 'start-times') return null;
  const all = startsOfSteps(recorded);
  const lengths = indices.map((i) => ns(all[i + 1]! - all[i]!));
  return { ...periods, steps, amounts, starts: indices.map((i) => all[i]!), ns: lengths };
}

/** Starts of the whole iterations; null unless all are known. */
function wholeStarts({ phases }: RankRecords, steps: readonly RecordedStep[]): number[] | null {
  const whole = phases.findIndex((p) => p.role === 'whole');
  const starts = steps.map((s) => {
    const parts = s.parts.get(whole);
    return parts?.length === 1 ? parts[0]!.start : Number.NaN;
  });
  return starts.some(Number.isNaN) ? null : starts;
}

/** Steps whose successor was recorded too. With every tenth step recorded there are none. */
function consecutive(all: readonly Timed[], starts: readonly number[]): Candidate[] {
  return all.flatMap(({ step, amounts }, i) => {
    const next = all[i + 1]?.step;
    if (next?.number !== step.number + 1 || next.generation !== step.generation) return [];
    const start = starts[i]!;
    const length = starts[i + 1]! - start;
    return length >= MIN_STEP ? [{ step, amounts, ns: length, start }] : [];
  });
}

/** Whether `training_step` lasts until the next step begins. Then steps without a recorded successor are as good. */
function lastUntilTheNext(pairs: readonly Candidate[]): boolean {
  const agree = pairs.filter(
    (c) => Math.abs(total(c.amounts, ['whole']) - c.ns) <= LASTS_UNTIL_NEXT * c.ns,
  ).length;
  return agree >= MOST_PAIRS * pairs.length;
}

/** Time per step from one recorded step to the next, with all that passes between them: rare pauses as well. */
function gapPeriods(
  { steps }: RankRecords,
  starts: readonly number[],
  first: RecordedStep | undefined,
): GapPeriods {
  const from = first ? steps.indexOf(first) : 0;
  const gaps = steps.flatMap((step, i) => {
    const next = steps[i + 1];
    if (i < from || !next || next.number === step.number + 1 || next.generation !== step.generation)
      return [];
    // Capture opens its profiler window when its dense start is over.
    if (i > 0 && steps[i - 1]!.number === step.number - 1) return [];
    const gap = { ns: starts[i + 1]! - starts[i]!, steps: next.number - step.number };
    return gap.ns >= MIN_STEP * gap.steps ? [gap] : [];
  });
  const sum = (of: 'ns' | 'steps') => gaps.reduce((n, gap) => n + gap[of], 0);
  const covered = sum('steps');
  const each = gaps.map((gap) => gap.ns / gap.steps);
  return { mean: sum('ns') / covered, median: median(each), steps: covered, each };
}

/** Phases one after the other. Collectives and the job's own phases are inside the model's phases, if there are any. */
function summed(records: RankRecords, all: readonly Timed[]): Candidate[] {
  const counted: PhaseRole[] = [...WAIT_ROLES, 'compute'];
  if (!all.some((c) => total(c.amounts, ['compute']) >= MIN_STEP)) counted.push('comms', 'own');
  const stepsWith = records.phases.map(() => 0);
  for (const { step } of all) for (const phase of step.parts.keys()) stepsWith[phase]!++;
  const regular = [...records.phases.keys()].filter(
    (p) => counted.includes(records.phases[p]!.role) && stepsWith[p]! >= REGULAR * records.steps.length,
  );
  return all
    .filter((c) => regular.every((p) => c.step.parts.has(p)))
    .map((c) => ({ ...c, ns: total(c.amounts, counted), start: Number.NaN }))
    .filter((c) => c.ns >= MIN_STEP);
}

/**
 * When each step began: the start of one phase, the same in all steps. That is the phase which most steps have; of several
 * the first in the step; on the device's clock if possible, because a host that runs ahead begins its first steps too fast.
 * NaN: unknown.
 */
function startsOfSteps(records: RankRecords): readonly number[] {
  const seen = records.phases.map(() => ({ steps: 0, sum: 0 }));
  for (const step of records.steps) {
    for (const [phase, parts] of step.parts) {
      const start = firstStart(parts);
      if (Number.isNaN(start)) continue;
      seen[phase]!.steps++;
      seen[phase]!.sum += start;
    }
  }
  const timed = [...seen.keys()].filter((phase) => seen[phase]!.steps > 0);
  const onDevice = timed.filter((phase) => !records.phases[phase]!.onHost);
  const [chosen] = (onDevice.length > 0 ? onDevice : timed).sort(
    // The name breaks ties: the order of lines must not matter.
    (a, b) =>
      seen[b]!.steps - seen[a]!.steps ||
      seen[a]!.sum - seen[b]!.sum ||
      (records.phases[a]!.name < records.phases[b]!.name ? -1 : 1),
  );
  return records.steps.map((s) => (chosen === undefined ? Number.NaN : firstStart(s.parts.get(chosen))));
}

/** The earliest known start; NaN: none is known. */
function firstStart(parts: readonly Part[] = []): number {
  let first = Number.NaN;
  for (const { start } of parts) if (!(start >= first) && !Number.isNaN(start)) first = start;
  return first;
}

/** Compiling, tuning and filling caches take several steps' time; ordinary variation does not. */
const LONG = 3;
/** A wait of this share of the step makes it long. Waits inside training_step count twice here, so a third is enough. */
const DUE_TO_WAIT = 1 / 3;
/** If a later step waits at least this share as long, long waits belong to the run. */
const ALIKE = 0.5;

/** How many of the first steps are warm-up. The two columns are parallel, in ns. */
function countWarmUp(steps: readonly number[], dataWaits: readonly number[]): number {
  const limit = LONG * median(steps);
  let count = 0;
  while (count < steps.length && steps[count]! > limit) count++;
  const later = dataWaits.slice(count).reduce((a, b) => Math.max(a, b), 0);
  const isBurst = (i: number) => dataWaits[i]! >= DUE_TO_WAIT * steps[i]! && later >= ALIKE * dataWaits[i]!;
  // Input that comes in bursts may begin with one. Without it the mean would be too short.
  while (count > 0 && isBurst(count - 1)) count--;
  return count;
}
