import type { RankMember } from '../../ingest/member.js';
import type { WhatIf } from '../../operations/what-if.js';
import type { Bottleneck } from './bottleneck.js';
import type { Verdict } from './verdict.js';

/** What a table of operations says of a job: what stragglers cost it, and who they are. */
export interface OperationsAnswer {
  readonly job: WhatIf;
  readonly verdict: Verdict;
  readonly straggler: OperationsStraggler | null;
}

/** Null: the last stage, not single workers. */
export interface OperationsStraggler {
  readonly ranks: readonly number[];
  readonly pattern: 'persistent' | 'stage';
  readonly cause: 'gpu' | 'unknown';
  readonly cost_s: number;
  readonly confidence: number;
}

/** Below this there is nothing to win back. */
const NO_SLOWDOWN = 1.05;
/** The share of the slowdown that must go with the few slowest workers, or the last stage, for them to be its cause. */
const EXPLAINS = 0.5;
const COMPUTES = /compute|forward|backward|optimizer/;

/** The first table of operations that could be replayed. */
export function operationsJob(members: readonly RankMember[]): WhatIf | null {
  for (const member of members)
    if (member.kind === 'operations' && member.whatIf.whatIf) return member.whatIf.whatIf;
  return null;
}

export function operationsAnswer(job: WhatIf): OperationsAnswer {
  const { actual_s, ideal_s, slowdown, m_w, m_s } = job;
  const lost = 1 - ideal_s / actual_s;
  const slow = slowdown >= NO_SLOWDOWN;
  const byWorkers = slow && (m_w ?? 0) >= EXPLAINS;
  const byStage = slow && !byWorkers && (m_s ?? 0) >= EXPLAINS;
  const kind = job.byKind[0]?.of ?? '';
  const bottleneck: Bottleneck = slow && !COMPUTES.test(kind) ? 'comms' : 'gpu';
  const workers = job.slowestWorkers.filter((w) => w.rank >= 0).map((w) => w.rank);
  const who = byWorkers
    ? `; the slowest ${job.slowestWorkers.length === 1 ? 'worker' : `${job.slowestWorkers.length} workers`} (${job.slowestWorkers
        .slice(0, 3)
        .map((w) => `dp ${w.dpRank}, stage ${w.stage}`)
        .join('; ')}) ${job.slowestWorkers.length === 1 ? 'explains' : 'explain'} ${percent(m_w!)} of it`
    : byStage
      ? `; the last stage explains ${percent(m_s!)} of it`
      : '';
  const sentence = slow
    ? `Stragglers cost ${percent(lost)} of every step: ${actual_s.toFixed(2)} s instead of ${ideal_s.toFixed(2)} s${who}`
    : `No stragglers to speak of: ${actual_s.toFixed(2)} s a step, ${ideal_s.toFixed(2)} s without them`;
  const cause = byWorkers
    ? 'slow-workers'
    : byStage
      ? 'stage-imbalance'
      : slow
        ? `slow-${kind || 'operations'}`
        : 'no-stragglers';
  const straggler: OperationsStraggler = {
    ranks: byWorkers ? workers : [],
    pattern: byWorkers ? 'persistent' : 'stage',
    cause: COMPUTES.test(kind) ? 'gpu' : 'unknown',
    cost_s: actual_s - (byWorkers ? job.withoutSlowestWorkers_s : job.withoutLastStage_s),
    confidence: 0.8,
  };
  return {
    job,
    verdict: { bottleneck, cause, confidence: slow ? 0.8 : 0.7, sentence, second: null, next: [] },
    straggler: byWorkers || byStage ? straggler : null,
  };
}

const percent = (share: number) => `${Math.round(100 * Math.min(1, share))} %`;
