import { largest, mean, median, smallest } from '../../base/statistics.js';
import { CollectivesBuilder } from '../../facts/collectives-builder.js';
import type { RankCollectives } from '../../facts/rank-collectives.js';
import type { EventFacts } from '../../logs/event-facts.js';
import { FROM_LOG, NO_DETAILS } from '../../logs/log-collectives.js';
import { roleOf } from '../../logs/phases.js';
import { LATE_SHARE } from '../lateness/lateness.js';
import { commonSteps } from '../table/build-table.js';

/** Fewer steps may agree by chance. */
const MIN_STEPS = 5;
/**
 * Step times may differ by at most this share of how far ranks differ in the phase. If ranks ran on their own, differences in
 * the phase and in the rest would add up; if they wait in the phase, only jitter is left. Fewer than 2% of 300 random sets
 * of ranks pass.
 */
const MAX_JITTER = 0.25;
/** Input and copies end on their own; every other phase may hold a collective. */
const NEVER_WAITS = ['data', 'copy', 'comms'];

/**
 * Finds collectives in logs that name none: a phase that ends on all ranks together. A rank that comes late to it has less
 * of it, while the step is as long on all ranks. So the phase less the shortest of all ranks is waiting.
 *
 * Null if that is unknown: ranks do not differ; their steps differ (they run on their own, or the delay is outside
 * all that was timed); the delay and the wait are in the same phase.
 */
export function fromPhases(logs: readonly EventFacts[]): readonly RankCollectives[] | null {
  const steps = commonSteps(logs.map((log) => log.indices));
  if (logs.length < 2 || steps.length < MIN_STEPS) return null;
  const rows = logs.map((log) => {
    const indexOf = new Map(log.indices.map((step, i) => [step, i]));
    return steps.map((step) => indexOf.get(step)!);
  });
  const periods = logs.map((log, r) => rows[r]!.map((i) => log.periods[i]!));
  // Less is not worth naming.
  const least = LATE_SHARE * mean(periods.map(mean));
  const jitter = medianRange(periods);
  const candidate = (names: readonly string[]): Candidate[] => {
    const time = logs.map((log, r) =>
      rows[r]!.map((i) => names.reduce((sum, name) => sum + phaseOf(log, name).perStep[i]!, 0)),
    );
    const difference = medianRange(time);
    if (difference < least || jitter > MAX_JITTER * difference || !fewAreLate(time)) return [];
    return [{ name: names.join(' and '), time, difference }];
  };
  const names = commonPhases(logs);
  const best = choose(
    names.flatMap((name) => candidate([name])),
    candidate(names.filter((name) => roleOf(name) === 'compute'))[0],
  );
  if (!best) return null;
  const shortest = steps.map((_, s) => smallest(best.time.map((own) => own[s]!)));
  return best.time.map((own) => {
    const waits = own.map((ns, s) => ns - shortest[s]!);
    return asCollectives(best.name, steps, waits);
  });
}

/** A phase, or the model's phases together, that may hold the collective. */
interface Candidate {
  readonly name: string;
  /** ns by rank and step. */
  readonly time: readonly (readonly number[])[];
  /** How far ranks differ in it, ns. */
  readonly difference: number;
}

/**
 * Where two phases differ about equally, either one has the delay and the other the wait, and nothing says which; or both
 * hold a collective. Then the model's phases together make up for the delay before them.
 */
function choose(single: readonly Candidate[], model: Candidate | undefined): Candidate | null {
  const [best, next] = single.toSorted((a, b) => b.difference - a.difference);
  const isAlike = (a: Candidate, b: Candidate) => a.difference > (1 - MAX_JITTER) * b.difference;
  if (model && (!best || isAlike(model, best))) return model;
  return !best || (next && isAlike(next, best)) ? null : best;
}

/** How far ranks are apart in the median step. `time`: ns by rank and step. */
const medianRange = (time: readonly (readonly number[])[]) =>
  median(
    time[0]!.map((_, s) => {
      const inStep = time.map((own) => own[s]!);
      return largest(inStep) - smallest(inStep);
    }),
  );

const phaseOf = (log: EventFacts, name: string) => log.phases.find((p) => p.name === name)!;

/** Names of phases that all ranks have and that may hold a collective. */
function commonPhases([first, ...rest]: readonly EventFacts[]): string[] {
  const names = first!.phases.map((p) => p.name).filter((name) => !NEVER_WAITS.includes(roleOf(name)));
  return names.filter((name) => rest.every((log) => log.phases.some((p) => p.name === name)));
}

/** Most ranks wait and few are late. A phase that is long on few ranks holds the delay, not the wait. */
function fewAreLate(time: readonly (readonly number[])[]): boolean {
  if (time.length === 2) return true;
  const skews = time[0]!.map((_, s) => {
    const inStep = time.map((own) => own[s]!);
    const middle = median(inStep);
    return middle - smallest(inStep) - (largest(inStep) - middle);
  });
  return mean(skews) > 0;
}

/** Only waiting: how much of the phase is transfer and how much is computing is not known. */
function asCollectives(name: string, steps: readonly number[], waits: readonly number[]): RankCollectives {
  const builder = new CollectivesBuilder();
  let start = 0;
  waits.forEach((wait, step) => {
    // 1 ns more than the wait: a duration of zero counts as a fault of the recording.
    const duration = wait + 1;
    const end = start + duration;
    builder.add({
      group: 0,
      kind: 'barrier',
      ...NO_DETAILS,
      start,
      end,
      onDevice: false,
      step,
      exposed: duration,
    });
    start = end;
  });
  const group = { name: `end of ${name}`, description: '', size: null, ranks: null, named: false };
  return builder.finish({
    source: 'phases',
    groups: [{ key: `phase ${name}`, ...group }],
    steps,
    ...FROM_LOG,
  });
}
