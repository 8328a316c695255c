import type { RankedMember } from '../ingest/ranks.js';
import type { WhatIf } from '../operations/what-if.js';
import type { Bottleneck } from '../rules/kit/finding.js';
import type { Report } from './report.js';

/** What a table of operations says of a job: what stragglers cost it, and who they are. */
export interface TableAnswer {
  readonly verdict: Report['verdict'];
  readonly step: Report['step'];
  readonly stragglers: Report['stragglers'][number][];
  readonly what_if: Report['what_if'];
}

/** Below this there is nothing to win back. */
const NO_SLOWDOWN = 1.05;
/** The share of the slowdown that must go with the few slowest workers, or the last stage, for them to be its cause. */
const EXPLAINS = 0.5;
const COMPUTES = /compute|forward|backward|optimizer/;

export function whatIfOf(members: readonly RankedMember[]): WhatIf | null {
  return members.map((m) => m.member.whatIf?.whatIf ?? null).find((w) => w !== null) ?? null;
}

export function whatIfFields({
  actual_s,
  ideal_s,
  slowdown,
  m_w,
  m_s,
}: WhatIf): NonNullable<Report['what_if']> {
  return { actual_s, ideal_s, slowdown, m_w, m_s, cases: [] };
}

export function answerFromTable(job: WhatIf): TableAnswer {
  const { actual_s, ideal_s, slowdown, m_w, m_s, perStep } = job;
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
  return {
    verdict: { bottleneck, cause, confidence: slow ? 0.8 : 0.7, sentence, second: null, next: [] },
    step: {
      ...{
        ms: actual_s * 1e3,
        source: 'host',
        profiled_ms: null,
        corrected: false,
        count: perStep.length,
      },
      ...{ first: perStep[0]?.step ?? null, last: perStep.at(-1)?.step ?? null },
    },
    stragglers:
      byWorkers || byStage
        ? [
            {
              ranks: byWorkers ? workers : [],
              pattern: byWorkers ? 'persistent' : 'stage',
              cause: COMPUTES.test(kind) ? 'gpu' : 'unknown',
              cost_ms: (actual_s - (byWorkers ? job.withoutSlowestWorkers_s : job.withoutLastStage_s)) * 1e3,
              confidence: 0.8,
              sentence,
            },
          ]
        : [],
    what_if: whatIfFields(job),
  };
}

const percent = (share: number) => `${Math.round(100 * Math.min(1, share))} %`;
