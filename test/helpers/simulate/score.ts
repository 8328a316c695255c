import { type Comparison, compareRanks } from '../../../src/run/compare.js';
import { analyzeTrace } from '../../../src/traces/analyze-trace.js';
import type { SimulateOptions } from './options.js';
import { type SimulatedRun, simulateRun } from './simulate.js';
import { readFile } from './testing.js';

/** A simulated run as whyslow sees it. */
export function compareRun(run: SimulatedRun): Comparison | null {
  return compareRanks(
    run.files.map((file) => {
      const { trace } = readFile(file);
      return {
        rank: file.rank,
        host: trace.data.header.hostName,
        coordinates: null,
        facts: analyzeTrace(trace, { steps: null, light: true })!,
      };
    }),
  );
}

export interface Outcome {
  readonly options: SimulateOptions;
  readonly stepMs: number;
  readonly costMs: number;
  /** A late rank or a slow group was named. */
  readonly named: boolean;
  readonly rightRanks: boolean;
  readonly rightCause: boolean;
  readonly saidCostMs: number;
  readonly said: string;
}

export function scoreRun(options: SimulateOptions): Outcome {
  const run = simulateRun(options);
  const { truth } = run;
  const comparison = compareRun(run);
  const late = comparison?.late ?? [];
  const fault = options.fault ?? null;
  const expected = fault === null || fault.kind === 'rotating' || fault.kind === 'link' ? [] : fault.ranks;
  const worst = late[0];
  const same = (a: readonly number[], b: readonly number[]) =>
    a.length === b.length && a.every((r) => b.includes(r));
  const cause = {
    gpu: 'gpu',
    clock: 'gpu',
    data: 'data',
    host: 'host',
    gc: 'host',
    compile: 'compile',
    link: 'link',
    rotating: '',
  };
  const links = (comparison?.slowGroups.length ?? 0) > 0;
  return {
    options,
    stepMs: truth.stepMs,
    costMs: truth.costMs,
    named: late.length > 0 || links,
    rightRanks: fault?.kind === 'link' ? links : worst !== undefined && same(worst.ranks, expected),
    rightCause:
      fault?.kind === 'link'
        ? links
        : fault?.kind === 'rotating' || worst?.cause === cause[fault?.kind ?? 'rotating'],
    saidCostMs: (worst?.cost ?? 0) / 1e6,
    said:
      late.map((l) => `${l.pattern} ${l.ranks.join()} ${l.cause} ${(l.cost / 1e6).toFixed(1)}`).join('; ') ||
      (links ? 'link' : 'none'),
  };
}
