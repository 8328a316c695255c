import type { HealthProblem } from '../../base/check.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { Bottleneck, Cause } from '../../facts/causes.js';
import type { Claim } from '../kit/claim.js';
import { unknown } from '../kit/words.js';
import { captureNext, healthDoubt } from './doubts.js';
import { judge, type RankVerdict, roundConfidence } from './judge.js';
import { SURE_ENOUGH } from './shares.js';
import { stepWords } from './words.js';

/** A severe problem of the input costs this much: files of several runs, a rank twice, no GPU events. */
const SEVERE_COST = 0.25;

const CAUSES: Readonly<Record<Bottleneck, Cause>> = {
  gpu: 'gpu-busy',
  compute: 'cpu-busy',
  data: 'input-wait',
  comms: 'exposed-communication',
  host: 'host-overhead',
  unknown: 'evidence-does-not-decide',
};

type Severe = Pick<HealthProblem, 'code' | 'message'> | null;

interface Judged {
  readonly view: RankView;
  readonly verdict: RankVerdict;
}

/** What limits the steps: the answer of the rank that sets the pace. `severe`: what is worst about the input. */
export function stepsClaim(judged: readonly [Judged, ...Judged[]], severe: Severe): Claim {
  const { view, verdict } = judged.reduce((a, b) =>
    b.view.step.unprofiled > a.view.step.unprofiled ? b : a,
  );
  const confidence = roundConfidence(verdict.confidence - (severe ? SEVERE_COST : 0));
  const doubts = severe ? [healthDoubt(severe), ...verdict.doubts] : verdict.doubts;
  const { bottleneck, second, shares } = verdict;
  if (confidence >= SURE_ENOUGH && bottleneck !== 'unknown')
    return {
      bottleneck,
      second,
      confidence,
      cause: CAUSES[bottleneck],
      doubts,
      words: stepWords(bottleneck, shares, view),
      view,
    };
  // If the GPU was not recorded, even a guess would be about the host alone.
  const isSeen = verdict.doubts.every(({ id }) => id !== 'unseen-gpu' && id !== 'unread-device');
  const guess = isSeen && bottleneck !== 'unknown' ? ` (best guess: ${bottleneck})` : '';
  return {
    bottleneck: 'unknown',
    confidence,
    cause: CAUSES.unknown,
    doubts,
    words: unknown(
      `${(doubts.find((d) => d.comesFirst) ?? doubts[0])?.text ?? 'the evidence does not decide'}${guess}`,
    ),
    next: captureNext(view, doubts),
    view,
  };
}

/** What limits the steps of one rank alone. */
export const claimOfRank = (view: RankView): Claim => stepsClaim([{ view, verdict: judge(view) }], null);

/** The answer if nothing was recorded that explains anything. `next`: what helps more than another recording. */
export function noEvidence(severe: Severe, next: readonly string[] = []): Claim {
  const doubt = severe ? healthDoubt(severe) : NOTHING;
  return {
    bottleneck: 'unknown',
    confidence: 0,
    cause: 'no-evidence',
    doubts: [doubt],
    words: unknown(doubt.text),
    next: [...next, ...captureNext(null, [doubt])],
  };
}

const NOTHING = { id: 'no-evidence', text: 'nothing to analyze was recorded', settledBy: null } as const;
