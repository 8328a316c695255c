import type { HealthProblem } from '../../base/check.js';
import type { RankView } from '../ranks/rank-view.js';
import type { Bottleneck } from './bottleneck.js';
import type { Doubt, DoubtId } from './doubts.js';
import { type RankVerdict, roundConfidence } from './judge.js';
import type { Shares } from './shares.js';
import type { Verdict } from './verdict.js';

/** The run's verdict: that of the rank which sets the pace. */
export interface Decision extends Omit<Verdict, 'sentence' | 'next'> {
  readonly shares: Shares | null;
  /** The rank that it is taken from. Null: nothing could be analyzed. */
  readonly view: RankView | null;
  readonly doubts: readonly Doubt[];
  /** The most likely bottleneck, even if the evidence does not decide. */
  readonly guess: Bottleneck;
  /** Instead of the usual one: a phase of the job outside its steps is the answer. */
  readonly sentence?: string;
  /** A second sentence, about stragglers. */
  readonly addition?: string;
}

/** With less confidence the answer is "unknown" (docs/method/confidence.md). */
export const SURE_ENOUGH = 0.5;

/** A severe problem of the input costs this much: files of several runs, a rank twice, no GPU events. */
const SEVERE_COST = 0.25;

const NO_EVIDENCE: Decision = {
  bottleneck: 'unknown',
  second: null,
  confidence: 0,
  shares: null,
  view: null,
  doubts: [{ id: 'no-evidence', text: 'nothing to analyze was recorded' }],
  guess: 'unknown',
  cause: 'no-evidence',
};

const CAUSES: Readonly<Record<Bottleneck, string>> = {
  gpu: 'gpu-busy',
  compute: 'cpu-busy',
  data: 'input-wait',
  comms: 'exposed-communication',
  host: 'host-overhead',
  unknown: 'evidence-does-not-decide',
};

const DOUBTS: Readonly<Record<string, DoubtId>> = {
  'disjoint-windows': 'several-runs',
  'lost-calls': 'cut-file',
};

const doubtOf = ({ code, message }: Pick<HealthProblem, 'code' | 'message'>): Doubt => ({
  id: DOUBTS[code] ?? 'poor-health',
  text: message,
});

/** `severe`: what is worst about the input. Null: nothing severe. */
export function decide(
  judged: readonly { readonly view: RankView; readonly verdict: RankVerdict }[],
  severe: Pick<HealthProblem, 'code' | 'message'> | null,
): Decision {
  if (judged.length === 0) return severe ? { ...NO_EVIDENCE, doubts: [doubtOf(severe)] } : NO_EVIDENCE;
  const { view, verdict } = judged.reduce((a, b) =>
    b.view.step.unprofiled > a.view.step.unprofiled ? b : a,
  );
  const confidence = roundConfidence(verdict.confidence - (severe ? SEVERE_COST : 0));
  const sure = confidence >= SURE_ENOUGH;
  const bottleneck = sure ? verdict.bottleneck : 'unknown';
  return {
    bottleneck,
    second: sure ? verdict.second : null,
    confidence,
    shares: verdict.shares,
    view,
    doubts: severe ? [doubtOf(severe), ...verdict.doubts] : verdict.doubts,
    // Where the GPU was not seen, even a guess would be one about the host alone.
    guess: verdict.doubts.some(({ id }) => id === 'unseen-gpu') ? 'unknown' : verdict.bottleneck,
    cause: CAUSES[bottleneck],
  };
}
