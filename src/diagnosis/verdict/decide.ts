import type { Grade } from '../../base/check.js';
import type { RankView } from '../ranks/rank-view.js';
import type { Bottleneck } from './bottleneck.js';
import type { RankVerdict, Shares } from './judge.js';

/** The run's verdict: that of the rank which sets the pace. */
export interface Decision {
  readonly bottleneck: Bottleneck;
  readonly second: Bottleneck | null;
  readonly confidence: number;
  readonly shares: Shares | null;
  /** The rank it is taken from; null when no trace could be analysed. */
  readonly view: RankView | null;
  readonly doubts: readonly string[];
  /** What it would have been, had the evidence been better; the same as `bottleneck` where it is. */
  readonly guess: Bottleneck;
  /** Said after the answer: who is late. */
  readonly addition?: string;
  /** Used when no finding names a cause. */
  readonly cause: string;
}

/** Below this the answer is "unknown" (method 3). */
export const SURE_ENOUGH = 0.5;

/** Less sure by this when health is poor: files of several runs, ranks twice, nothing recorded of the device. */
const POOR = 0.25;

export function decide(
  judged: readonly { readonly view: RankView; readonly verdict: RankVerdict }[],
  health: Grade,
): Decision {
  if (judged.length === 0) {
    return {
      bottleneck: 'unknown',
      second: null,
      confidence: 0,
      shares: null,
      view: null,
      doubts: ['nothing to analyse was recorded'],
      guess: 'unknown',
      cause: 'no-evidence',
    };
  }
  const { view, verdict } = judged.reduce((a, b) => (b.view.step > a.view.step ? b : a));
  const { shares, second } = verdict;
  const poor = health === 'poor';
  const confidence = Math.max(0, Math.round(100 * (verdict.confidence - (poor ? POOR : 0))) / 100);
  const doubts = poor
    ? ['the input has severe problems (see its health)', ...verdict.doubts]
    : verdict.doubts;
  const sure = confidence >= SURE_ENOUGH;
  return {
    ...{ view, shares, doubts, confidence },
    bottleneck: sure ? verdict.bottleneck : 'unknown',
    second: sure ? second : null,
    guess: verdict.bottleneck,
    cause: sure ? CAUSES[verdict.bottleneck] : 'evidence-does-not-decide',
  };
}

const CAUSES: Readonly<Record<Bottleneck, string>> = {
  ...{
    gpu: 'gpu-busy',
    compute: 'cpu-busy',
    data: 'input-wait',
    comms: 'exposed-communication',
    host: 'host-overhead',
  },
  unknown: 'evidence-does-not-decide',
};
