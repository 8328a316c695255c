import { mean } from '../../../src/base/statistics.js';
import { type Clock, clockOf, shown } from './clock.js';
import type { CollectiveKind } from './collective-kinds.js';
import type { Job } from './job.js';
import type { Axis } from './layout.js';
import type { Fault, FaultPattern } from './options.js';
import type { Played } from './play.js';

export interface PlantedFault extends Fault {
  readonly pattern: FaultPattern;
  /** Steps it hits, and who is late in each; nobody where a link is slow. */
  readonly steps: readonly { readonly step: number; readonly late: readonly number[] }[];
  /** Of a slow link: its name. */
  readonly group: string | null;
}

export interface TrueCollective {
  readonly group: string;
  readonly kind: CollectiveKind;
  readonly step: number;
  readonly bytes: number;
  readonly ranks: readonly number[];
  /** True µs; when each member's kernel starts, in the order of `ranks`. */
  readonly starts: Float64Array;
  readonly end: number;
  readonly transferUs: number;
}

export interface Truth {
  /** From the end of the first step's GPU work to that of the last, by step; mean over ranks. */
  readonly stepMs: number;
  /** The same without the fault, all dice equal. */
  readonly healthyStepMs: number;
  readonly costMs: number;
  /** Each step but the first; mean over ranks. */
  readonly stepsMs: readonly number[];
  readonly healthyStepsMs: readonly number[];
  readonly faults: readonly PlantedFault[];
  readonly clocks: readonly Clock[];
  /** By rank: what its clock is ahead in the middle of the run. */
  readonly offsetsUs: readonly number[];
  readonly groups: readonly TrueGroup[];
  readonly collectives: readonly TrueCollective[];
}

export interface TrueGroup {
  readonly name: string;
  readonly description: string;
  readonly axis: Axis;
  readonly ranks: readonly number[];
}

export function truthOf(job: Job, played: Played, healthy: Played): Truth {
  const { settings, layout } = job;
  const stepsMs = periodsMs(played);
  const healthyStepsMs = periodsMs(healthy);
  const [stepMs, healthyStepMs] = [mean(stepsMs), mean(healthyStepsMs)];
  const clocks = played.machines.map((m) => clockOf(settings, m.rank));
  const middle = (played.machines[0]!.recording.frontiers.at(-1) ?? 0) / 2;
  const exact = shown({ host: 0, offsetUs: 0, driftPpm: 0 }, middle);
  return {
    stepMs,
    healthyStepMs,
    costMs: stepMs - healthyStepMs,
    stepsMs,
    healthyStepsMs,
    clocks,
    faults: settings.fault ? [planted(settings.fault, job, played)] : [],
    offsetsUs: clocks.map((c) => shown(c, middle) - exact),
    groups: layout.groups.map(({ name, description, axis, ranks }) => ({ name, description, axis, ranks })),
    collectives: played.exchange.meetings.map((m) => ({
      group: m.group.name,
      kind: m.kind,
      step: m.step,
      bytes: m.bytes,
      ranks: m.ranks,
      starts: m.starts,
      end: m.end,
      transferUs: m.transferUs,
    })),
  };
}

function periodsMs({ machines }: Played): number[] {
  const { frontiers } = machines[0]!.recording;
  return frontiers
    .slice(1)
    .map((_, i) => mean(machines.map(({ recording: r }) => r.frontiers[i + 1]! - r.frontiers[i]!)) / 1000);
}

function planted(fault: Fault, { settings }: Job, { faults }: Played): PlantedFault {
  const steps = Array.from({ length: settings.steps }, (_, step) => ({ step, late: faults.lateRanks(step) }));
  return {
    ...fault,
    pattern: fault.pattern ?? 'persistent',
    steps: steps.filter(({ step }) => faults.hits(step)),
    group: faults.group?.name ?? null,
  };
}
