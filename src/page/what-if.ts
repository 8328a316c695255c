import { type Ns, ns } from '../base/units.js';
import { WorkSort } from '../facts/time-class.js';
import { scaleHost, scaleInput, scaleWorks, skipWaits } from '../replay/edits.js';
import { copyPlan, type Plan } from '../replay/plan.js';
import { type RecordingCost, replaySteady } from '../replay/replay.js';

/** A rank's step, ready to be replayed with changes. The page replays it in the browser with the engine's own code. */
export interface WhatIfPlan {
  readonly rank: number;
  readonly plan: Plan;
  readonly recording: RecordingCost;
  /** ns: the step, the replay of its plan unchanged, and what neither has: time between training steps. */
  readonly step: number;
  readonly unchanged: number;
  readonly between: number;
  /** ns of a measured step that the plan does not have, and that no change shortens. */
  readonly outside: number;
  /** Levers that move something. */
  readonly levers: readonly Lever[];
}

/** What can be changed. Each is a factor: 1 as it is, 0 gone. `sync` is 0 or 1. */
export const LEVERS = ['data', 'host', 'sync', 'compile', 'comms', 'copy', 'compute'] as const;
export type Lever = (typeof LEVERS)[number];
export type LeverSettings = Readonly<Record<Lever, number>>;

export const AS_IT_IS: LeverSettings = {
  data: 1,
  host: 1,
  sync: 1,
  compile: 1,
  comms: 1,
  copy: 1,
  compute: 1,
};

const COPIES: readonly number[] = [WorkSort.toDevice, WorkSort.toHost, WorkSort.move];

/** The step with the changes. */
export function replayedStep(whatIf: WhatIfPlan, settings: LeverSettings): Ns {
  const { step, unchanged, outside, between } = whatIf;
  const { step: replayed } = replaySteady(edited(whatIf.plan, settings), whatIf.recording);
  return ns((step * (replayed + outside)) / (unchanged + outside) + between);
}

function edited(original: Plan, { data, host, sync, compile, comms, copy, compute }: LeverSettings): Plan {
  const plan = copyPlan(original);
  const { nodes, works } = plan;
  const scale = (column: Float64Array, factor: number) => {
    if (factor !== 1) for (let n = 0; n < column.length; n++) column[n]! *= factor;
  };
  if (data !== 1) scaleInput(plan, data);
  scale(nodes.compile, compile);
  scale(nodes.comms, comms);
  if (host !== 1) scaleHost(plan, () => true, host);
  if (sync === 0) skipWaits(plan, () => true);
  if (comms !== 1) scaleWorks(plan, (w) => works.sort[w] === WorkSort.comms, comms);
  if (copy !== 1) scaleWorks(plan, (w) => COPIES.includes(works.sort[w]!), copy);
  if (compute !== 1) scaleWorks(plan, (w) => works.sort[w] === WorkSort.compute, compute);
  return plan;
}
