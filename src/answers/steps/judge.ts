import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { Bottleneck } from '../../facts/causes.js';
import type { Doubt } from '../kit/claim.js';
import { applyDoubts } from './doubts.js';
import { certaintyOf, judgmentOf, type Shares, type VerdictClass } from './shares.js';

export interface RankVerdict {
  readonly bottleneck: Bottleneck;
  readonly second: Bottleneck | null;
  readonly confidence: number;
  readonly shares: Shares;
  /** Why the confidence is not higher. */
  readonly doubts: readonly Doubt[];
}

/**
 * One rank's verdict, and how far it can be trusted. `lateComputing`: the share of the step in which all ranks wait for one
 * that computes longer than the others.
 */
export function judge(view: RankView, lateComputing = 0): RankVerdict {
  const judgment = judgmentOf(view, lateComputing);
  const { confidence, doubts } = applyDoubts(judgment, certaintyOf(judgment));
  const bottleneckOf = (c: VerdictClass): Bottleneck =>
    c === 'gpu' && !view.facts.hasGpuWork ? 'compute' : c;
  return {
    bottleneck: bottleneckOf(judgment.best),
    second: judgment.second && bottleneckOf(judgment.second),
    confidence: roundConfidence(confidence),
    shares: judgment.shares,
    doubts,
  };
}

/** Two decimals, not below 0. */
export const roundConfidence = (confidence: number) => Math.max(0, Math.round(confidence * 100) / 100);
