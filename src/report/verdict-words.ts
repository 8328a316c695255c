import type { Bottleneck } from '../rules/finding.js';
import type { RankView } from '../rules/run-facts.js';
import type { RankVerdict, Shares } from '../rules/verdict.js';

/** The run's verdict: that of the rank which sets the pace. */
export interface Decision {
  readonly bottleneck: Bottleneck;
  readonly second: Bottleneck | null;
  readonly confidence: number;
  readonly shares: Shares | null;
  /** The rank it is taken from; null when no trace could be analysed. */
  readonly view: RankView | null;
  readonly doubts: readonly string[];
  /** Used when no finding names a cause. */
  readonly cause: string;
}

/** Below this the answer is "unknown" (method 3). */
const SURE_ENOUGH = 0.5;

export function decide(
  judged: readonly { readonly view: RankView; readonly verdict: RankVerdict }[],
): Decision {
  if (judged.length === 0) {
    return {
      bottleneck: 'unknown',
      second: null,
      confidence: 0,
      shares: null,
      view: null,
      doubts: ['nothing to analyse was recorded'],
      cause: 'no-evidence',
    };
  }
  const { view, verdict } = judged.reduce((a, b) => (b.view.step > a.view.step ? b : a));
  const { shares, doubts, second } = verdict;
  const sure = verdict.confidence >= SURE_ENOUGH;
  return {
    ...{ view, shares, doubts, confidence: verdict.confidence },
    bottleneck: sure ? verdict.bottleneck : 'unknown',
    second: sure ? second : verdict.bottleneck,
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

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** The answer for a person, one sentence. */
export function inWords({ bottleneck, shares, doubts, view, second }: Decision): string {
  if (bottleneck === 'unknown' || !shares || !view) {
    return `Unknown: ${doubts[0] ?? 'the evidence does not decide'}`;
  }
  const also = second && second !== bottleneck ? `; ${NAMES[second]} is close behind` : '';
  const { time, step } = view;
  switch (bottleneck) {
    case 'gpu':
      return `GPU-bound: the GPU computes ${percent(shares.gpu)} of every step${also}`;
    case 'compute':
      return `Compute-bound: operators on the CPU take ${percent(shares.gpu)} of every step${also}`;
    case 'data': {
      const copying = time.copy > time.idle_data;
      const what = copying ? 'the GPU waits for batches to be copied to it' : 'the GPU waits for input';
      return `Data-bound: ${percent(shares.data)} of every step ${what}${also}`;
    }
    case 'comms':
      return `Comms-bound: ${percent(shares.comms)} of every step is communication that nothing hides${also}`;
    default: {
      const compiling = time.idle_compile > time.idle_host + time.idle_sync;
      const what = compiling ? 'waits for code to be compiled' : 'waits for the host to launch work';
      const idle = (time.idle_host + time.idle_sync + time.idle_compile) / step;
      return `Host-bound: ${percent(Math.max(idle, shares.host))} of every step the GPU ${what}${also}`;
    }
  }
}

const NAMES: Readonly<Record<Bottleneck, string>> = {
  ...{
    gpu: 'computing',
    compute: 'computing',
    data: 'input',
    comms: 'communication',
    host: 'the host',
    unknown: 'something else',
  },
};

/** What to record so that the next answer is better. */
export function captureNext({ view, doubts }: Decision): string[] {
  const next: string[] = [];
  if (!view?.facts.hasHostEvents)
    next.push('record with ProfilerActivity.CPU and ProfilerActivity.CUDA');
  if (!view || view.facts.steps.source === 'window')
    next.push('call profiler.step() at the end of every step');
  if (view && view.facts.steps.count < 4)
    next.push('record at least six steps after warm-up: schedule(wait=5, warmup=3, active=6)');
  if (doubts.some((d) => d.includes('profiler')))
    next.push('add step times without the profiler (an events log)');
  return next.length > 0
    ? next
    : ['record at least six steps after warm-up: schedule(wait=5, warmup=3, active=6)'];
}
