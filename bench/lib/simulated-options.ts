import type { Fault, SimulateOptions } from '../../test/helpers/simulate/options.js';

export interface Scenario {
  readonly name: string;
  readonly fault: Fault | null;
  readonly missingRanks?: readonly number[];
}

/** 8 × n × 4: tensor parallel 8 on a host, 4 pipeline stages, the rest data parallel. */
export const optionsOf = (
  ranks: number,
  seed: number,
  { fault, missingRanks = [] }: Scenario,
): SimulateOptions => ({
  seed,
  ranks,
  ranksPerHost: 8,
  steps: 6,
  parallelism: 'mesh3d',
  stages: 4,
  tensorParallel: 8,
  microBatches: 4,
  eventsPerStep: 60,
  startSkewMs: 300,
  clock: { offsetUsPerHost: 2000, driftPpm: 20 },
  fault,
  missingRanks,
});
