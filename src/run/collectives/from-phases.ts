import { largest, mean, median, smallest } from '../../base/statistics.js';
import { CollectivesBuilder } from '../../facts/collectives-builder.js';
import type { RankCollectives } from '../../facts/rank-collectives.js';
import type { EventFacts, PhaseFacts } from '../../logs/event-facts.js';
import { roleOf } from '../../logs/phases.js';

/** Fewer steps are chance. */
const MIN_STEPS = 5;
/** Ranks must differ by this part of the step in what they do besides the phase: less is not worth naming. */
const WORTH_LOOKING = 0.05;
/**
 * And steps as a whole by no more than this part of that. Of ranks on their own the differences of the phase and of the
 * rest would add up; where the phase makes up for the rest, what is left is jitter.
 */
const MADE_UP_FOR = 0.25;
/** Input and copies end when they end; everything else may hold a collective. */
const NEVER = ['data', 'copy', 'comms'];

/**
 * Logs that name no collective still show one: a phase that ends on all ranks together. A rank that comes late to it has
 * less of it, and all have the same step. Of a step s and rank r let X be the phase and S the step. If X holds the
 * collective, S is the same for all ranks and X makes up for S − X. Then X less the shortest X over ranks is waiting.
 *
 * Null, for it cannot be told: where ranks do the same anyway; where they do not have the same step (they run on their own,
 * or the delay is in a time that no phase and no step covers); where the delay and the wait are in one phase.
 */
export function fromPhases(logs: readonly EventFacts[]): readonly RankCollectives[] | null {
  const common = commonSteps(logs);
  if (logs.length < 2 || common.length < MIN_STEPS) return null;
  const rows = logs.map((log) => {
    const placeOf = new Map(log.indices.map((step, i) => [step, i]));
    return common.map((step) => placeOf.get(step)!);
  });
  const steps = logs.map((log, r) => rows[r]!.map((i) => log.periods[i]!));
  const spread = median(common.map((_, s) => range(steps.map((of) => of[s]!))));
  const least = WORTH_LOOKING * mean(steps.map(mean));
  const candidate = (names: readonly string[]): Candidate[] => {
    const phase = logs.map((log, r) =>
      rows[r]!.map((i) => sumOf(names.map((n) => phaseOf(log, n).perStep[i]!))),
    );
    const differs = median(common.map((_, s) => range(phase.map((of) => of[s]!))));
    if (differs < least || spread > MADE_UP_FOR * differs || !fewAreLate(phase)) return [];
    return [{ name: names.join(' and '), phase, differs }];
  };
  const names = namesOf(logs);
  const best = choose(
    names.flatMap((name) => candidate([name])),
    candidate(names.filter((name) => roleOf(name) === 'compute')),
  );
  if (!best) return null;
  const shortest = common.map((_, s) => smallest(best.phase.map((of) => of[s]!)));
  return best.phase.map((own) =>
    asCollectives(
      best.name,
      common,
      own.map((ns, s) => ns - shortest[s]!),
    ),
  );
}

interface Candidate {
  readonly name: string;
  /** ns by rank and step. */
  readonly phase: readonly (readonly number[])[];
  readonly differs: number;
}

/**
 * Two phases that differ as much: one has the delay and the other the wait, and nothing says which; or there is a
 * collective in both. Then the model's phases together make up for what came before them.
 */
function choose(single: readonly Candidate[], [model]: readonly Candidate[]): Candidate | null {
  const [best, next] = single.toSorted((a, b) => b.differs - a.differs);
  const alike = (a: Candidate, b: Candidate) => a.differs > (1 - MADE_UP_FOR) * b.differs;
  if (model && (!best || alike(model, best))) return model;
  return !best || (next && alike(next, best)) ? null : best;
}

const sumOf = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
const range = (values: readonly number[]) => largest(values) - smallest(values);

function commonSteps([first, ...rest]: readonly EventFacts[]): number[] {
  const sets = rest.map((log) => new Set(log.indices));
  return (first?.indices ?? []).filter((step) => sets.every((set) => set.has(step)));
}

const phaseOf = (log: EventFacts, name: string): PhaseFacts => log.phases.find((p) => p.name === name)!;

/** Phases that all ranks have. */
function namesOf([first, ...rest]: readonly EventFacts[]): string[] {
  const names = first!.phases.map((p) => p.name).filter((name) => !NEVER.includes(roleOf(name)));
  return names.filter((name) => rest.every((log) => log.phases.some((p) => p.name === name)));
}

/** Those who wait are the many. Where most have little of a phase, a few do more in it: that is the delay, not the wait. */
function fewAreLate(phase: readonly (readonly number[])[]): boolean {
  if (phase.length === 2) return true;
  const sides = phase[0]!.map((_, s) => {
    const inStep = phase.map((of) => of[s]!);
    const middle = median(inStep);
    return middle - smallest(inStep) - (largest(inStep) - middle);
  });
  return mean(sides) > 0;
}

/** Waiting alone: how much of the phase is transfer and how much computing is not known. */
function asCollectives(name: string, steps: readonly number[], waits: readonly number[]): RankCollectives {
  const builder = new CollectivesBuilder();
  let now = 0;
  waits.forEach((wait, step) => {
    // A duration of zero would be a fault of the recording.
    const ns = wait + 1;
    builder.add({
      ...{ group: 0, kind: 'barrier', step, start: now, end: now + ns, exposed: ns, onDevice: false },
      ...{ sequence: Number.NaN, peer: -1, bytes: Number.NaN, dtype: '' },
    });
    now += ns;
  });
  return builder.finish({
    ...{ source: 'phases', baseNs: 0n, timed: false, numbered: true, profilerStart: false, steps },
    groups: [
      {
        ...{ key: `phase ${name}`, name: `end of ${name}`, description: '' },
        ...{ size: null, ranks: null, named: false },
      },
    ],
  });
}
