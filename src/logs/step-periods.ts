import { median } from '../base/statistics.js';
import { type Amounts, amountsOf, total } from './amounts.js';
import { findLayout, type Layout } from './layout.js';
import type { GapPeriods } from './pace.js';
import { type PhaseRole, WAIT_ROLES } from './phases.js';
import type { RankRecords, RecordedStep } from './step-records.js';
import { anchorStarts } from './step-starts.js';
import { countWarmUp } from './warm-up.js';

export type EventStepSource = 'training_step' | 'start-times' | 'sum-of-phases';

/** The steps that count and how long each took. Columns are parallel. */
export interface StepPeriods {
  readonly source: EventStepSource;
  readonly layout: Layout;
  readonly steps: readonly RecordedStep[];
  readonly amounts: readonly Amounts[];
  readonly ns: readonly number[];
  /** Start of each step; null unless periods come from start times, or from a whole iteration whose start is known. */
  readonly starts: readonly number[] | null;
  readonly warmUp: number;
  /** From one recorded step to the next over those that were not recorded, warm-up left out. */
  readonly gaps: GapPeriods;
}

/** Below a nanosecond it is no step. */
const MIN_STEP = 1;
/** Fewer pairs of neighbours are an accident of sampling. */
const ENOUGH_PAIRS = 3;
/** A phase that nearly every step has; a step without it was cut, or a record of it got lost. */
const REGULAR = 0.9;

interface Timed {
  readonly step: RecordedStep;
  readonly amounts: Amounts;
}
interface Candidate extends Timed {
  readonly ns: number;
  readonly start: number;
}

/** Null when no step can be told. */
export function findPeriods(records: RankRecords): StepPeriods | null {
  const candidates = records.steps.map((step) => ({ step, amounts: amountsOf(records, step) }));
  const withWhole = candidates.filter((c) => total(c.amounts, ['whole']) >= MIN_STEP);
  const anchors = anchorStarts(records);
  const pairs = consecutive(candidates, anchors);
  const gapsFrom = (first: RecordedStep | undefined) => gapPeriods(records, anchors, first);
  if (pairs.length >= ENOUGH_PAIRS || (pairs.length > 0 && pairs.length >= withWhole.length - 1)) {
    return finish('start-times', records, pairs, gapsFrom);
  }
  if (withWhole.length * 2 >= candidates.length) {
    // Long either way: which of the two is the step is decided without the warm-up.
    const ns = (a: Amounts) => total(a, ['whole', ...WAIT_ROLES]);
    const steps = withWhole.map((c) => ({ ...c, ns: ns(c.amounts), start: Number.NaN }));
    return finish('training_step', records, steps, gapsFrom);
  }
  return finish('sum-of-phases', records, summed(records, candidates), gapsFrom);
}

function finish(
  source: EventStepSource,
  records: RankRecords,
  candidates: readonly Candidate[],
  gapsFrom: (first: RecordedStep | undefined) => GapPeriods,
): StepPeriods | null {
  if (candidates.length === 0) return null;
  const waits = candidates.map((c) => total(c.amounts, ['data']));
  const warmUp = countWarmUp(
    candidates.map((c) => c.ns),
    waits,
  );
  const kept = candidates.slice(warmUp);
  const steps = kept.map((c) => c.step);
  const amounts = kept.map((c) => c.amounts);
  const layout = findLayout(records, steps, amounts);
  const isWhole = source === 'training_step' && layout === 'whole';
  return {
    ...{ source, layout, steps, amounts, warmUp, gaps: gapsFrom(steps[0]) },
    ns: kept.map((c) => (isWhole ? total(c.amounts, ['whole']) : c.ns)),
    starts:
      source === 'start-times' ? kept.map((c) => c.start) : isWhole ? wholeStarts(records, steps) : null,
  };
}

function wholeStarts({ phases }: RankRecords, steps: readonly RecordedStep[]): number[] | null {
  const place = phases.findIndex((p) => p.role === 'whole');
  const starts = steps.map((s) => {
    const parts = s.parts.get(place);
    return parts?.length === 1 ? parts[0]!.start : Number.NaN;
  });
  return starts.some(Number.isNaN) ? null : starts;
}

/** Steps whose successor was recorded too: with every tenth step recorded there are none. */
function consecutive(all: readonly Timed[], starts: readonly number[]): Candidate[] {
  return all.flatMap(({ step, amounts }, i) => {
    const next = all[i + 1]?.step;
    if (next?.number !== step.number + 1 || next.generation !== step.generation) return [];
    const [start, ns] = [starts[i]!, starts[i + 1]! - starts[i]!];
    return ns >= MIN_STEP ? [{ step, amounts, ns, start }] : [];
  });
}

/** Without its parts, and with evaluation and checkpoints in it: a check on the step. */
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
    const gap = { ns: starts[i + 1]! - starts[i]!, steps: next.number - step.number };
    return gap.ns >= MIN_STEP * gap.steps ? [gap] : [];
  });
  const sum = (of: 'ns' | 'steps') => gaps.reduce((n, gap) => n + gap[of], 0);
  return { mean: sum('ns') / sum('steps'), median: median(gaps.map((gap) => gap.ns / gap.steps)) };
}

/** Phases one after the other. Collectives and the user's own lie in the model's phases where there are any. */
function summed(records: RankRecords, all: readonly Timed[]): Candidate[] {
  const counted: PhaseRole[] = [...WAIT_ROLES, 'compute'];
  if (!all.some((c) => total(c.amounts, ['compute']) >= MIN_STEP)) counted.push('comms', 'own');
  const inSteps = records.phases.map(() => 0);
  for (const { step } of all) for (const place of step.parts.keys()) inSteps[place]!++;
  const regular = [...records.phases.keys()].filter(
    (p) => counted.includes(records.phases[p]!.role) && inSteps[p]! >= REGULAR * records.steps.length,
  );
  return all
    .filter((c) => regular.every((p) => c.step.parts.has(p)))
    .map((c) => ({ ...c, ns: total(c.amounts, counted), start: Number.NaN }))
    .filter((c) => c.ns >= MIN_STEP);
}
