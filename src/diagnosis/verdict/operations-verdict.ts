import { formatCount, formatWholePercent, type Seconds, seconds, share } from '../../base/units.js';
import type { RankMember } from '../../ingest/member.js';
import type { WhatIf } from '../../operations/what-if.js';
import type { Verdict } from './verdict.js';

/** What a table of operations says about a job: what stragglers cost it, and which workers they are. */
export interface OperationsAnswer {
  readonly job: WhatIf;
  readonly verdict: Verdict;
  /** Null: no few workers and no stage explain the slowdown. */
  readonly straggler: OperationsStraggler | null;
}

export interface OperationsStraggler {
  /** Empty for a slow stage. */
  readonly ranks: readonly number[];
  readonly pattern: 'persistent' | 'stage';
  readonly cause: 'gpu' | 'unknown';
  readonly cost_s: Seconds;
  readonly confidence: number;
}

/** A smaller slowdown is not worth fixing. */
const MIN_SLOWDOWN = 1.05;
/** The slowest workers, or the last stage, are the cause if they explain this share of the slowdown. */
const EXPLAINS = 0.5;
/** Other kinds move data: `forward-pp-comm`, `grads-reduce-scatter`. */
const COMPUTES = /compute|^optimizer/;
const MAX_NAMED_WORKERS = 3;

/** The first table of operations that could be replayed. */
export function operationsJob(members: readonly RankMember[]): WhatIf | null {
  for (const member of members)
    if (member.kind === 'operations' && member.whatIf.whatIf) return member.whatIf.whatIf;
  return null;
}

export function operationsAnswer(job: WhatIf): OperationsAnswer {
  const { actual_s, ideal_s, slowdown, m_w, m_s } = job;
  const kind = job.byKind[0]?.of ?? '';
  const computes = COMPUTES.test(kind);
  if (slowdown < MIN_SLOWDOWN) {
    const sentence = `No significant stragglers: ${actual_s.toFixed(2)} s per step, ${ideal_s.toFixed(2)} s without them`;
    const verdict = { bottleneck: 'gpu', cause: 'no-stragglers', confidence: 0.7, sentence } as const;
    return { job, verdict: { ...verdict, second: null, next: [] }, straggler: null };
  }
  const byWorkers = (m_w ?? 0) >= EXPLAINS;
  const byStage = !byWorkers && (m_s ?? 0) >= EXPLAINS;
  const explained = byWorkers
    ? workersText(job)
    : byStage
      ? `; the last stage explains ${percent(m_s!)} of it`
      : '';
  return {
    job,
    verdict: {
      bottleneck: computes ? 'gpu' : 'comms',
      cause: byWorkers ? 'slow-workers' : byStage ? 'stage-imbalance' : `slow-${kind || 'operations'}`,
      confidence: 0.8,
      sentence: `Stragglers cost ${percent(1 - ideal_s / actual_s)} of every step: ${actual_s.toFixed(2)} s instead of ${ideal_s.toFixed(2)} s${explained}`,
      second: null,
      next: byWorkers ? slowWorkersNext(job, computes) : byStage ? SLOW_STAGE_NEXT : [record()],
    },
    straggler:
      byWorkers || byStage
        ? {
            ranks: byWorkers ? job.slowestWorkers.map((w) => w.rank).filter((rank) => rank >= 0) : [],
            pattern: byWorkers ? 'persistent' : 'stage',
            cause: computes ? 'gpu' : 'unknown',
            cost_s: seconds(actual_s - (byWorkers ? job.withoutSlowestWorkers_s : job.withoutLastStage_s)),
            confidence: 0.8,
          }
        : null,
  };
}

/** A table says which operations are slow, not why. */
const record = (options = '') =>
  `to see why, record event logs and a trace: whyslow run ${options}-- python train.py`;
/** The loss and the output layer make it long (StragglerAnalysis, the paper that this analysis comes from). */
const SLOW_STAGE_NEXT: readonly string[] = [
  'give the last stage fewer layers: it computes the loss and the output layer too',
  record(),
];

function slowWorkersNext({ slowestWorkers }: WhatIf, computes: boolean): readonly string[] {
  const ranks = slowestWorkers.map((w) => w.rank).filter((rank) => rank >= 0);
  const chosen = ranks.slice(0, MAX_NAMED_WORKERS).join(',');
  const where = slowestWorkers.length === 1 ? 'that worker' : 'those workers';
  return [
    computes
      ? `look at the GPU and the host of ${where}: clocks, heat, other processes, and whether batches are longer there`
      : `test the network of ${where}`,
    record(chosen === '' ? '' : `--trace-ranks ${chosen} `),
  ];
}

/** `; the slowest 2 workers (dp 0, stage 1; dp 3, stage 1) explain 80% of it`. */
function workersText({ slowestWorkers, m_w }: WhatIf): string {
  const one = slowestWorkers.length === 1;
  const named = slowestWorkers.slice(0, MAX_NAMED_WORKERS).map((w) => `dp ${w.dpRank}, stage ${w.stage}`);
  const workers = one ? 'worker' : formatCount(slowestWorkers.length, 'worker');
  return `; the slowest ${workers} (${named.join('; ')}) ${one ? 'explains' : 'explain'} ${percent(m_w!)} of it`;
}

const percent = (part: number) => formatWholePercent(share(Math.min(1, part)));
