import type { Grade } from '../base/check.js';
import type { RankView } from '../diagnosis/run-facts.js';
import type { RankVerdict, Shares } from '../diagnosis/verdict.js';
import type { Bottleneck } from '../rules/kit/finding.js';

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
const SURE_ENOUGH = 0.5;

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

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** The answer for a person, one sentence. */
export function inWords(decision: Decision): string {
  const { addition } = decision;
  return addition === undefined ? answerOf(decision) : `${answerOf(decision)}. ${addition}`;
}

function answerOf({ bottleneck, guess, shares, doubts, view }: Decision): string {
  if (bottleneck === 'unknown' || !shares || !view) {
    const best = guess === 'unknown' ? '' : ` (best guess: ${guess})`;
    return `Unknown: ${doubts[0] ?? 'the evidence does not decide'}${best}`;
  }
  const { phases } = view.facts;
  const onGpu = view.facts.hasGpuWork;
  switch (bottleneck) {
    case 'gpu':
      return phases
        ? `GPU-bound as far as phases tell: ${phases.hostPaced === null ? 'computing takes' : 'the GPU is behind the host in'} ${percent(shares.gpu)} of every step`
        : `GPU-bound: the GPU computes ${percent(shares.gpu)} of every step`;
    case 'compute':
      return `Compute-bound: ${phases ? 'the model’s phases' : 'operators'} on the CPU take ${percent(shares.gpu)} of every step`;
    case 'data':
      return `Data-bound: ${percent(shares.data)} of every step ${onGpu ? 'the GPU' : 'the job'} waits for ${inputOf(view)}`;
    case 'comms':
      return `Comms-bound: ${percent(shares.comms)} of every step is communication that nothing hides`;
    default:
      if (phases && onGpu && phases.hostPaced !== null && view.time.idle_host >= view.time.idle_sync)
        return `Host-bound as far as phases tell: ${percent(shares.host)} of every step the GPU has nothing queued and goes at the host’s pace`;
      return onGpu
        ? `Host-bound: ${percent(shares.host)} of every step the GPU waits for ${hostWorkOf(view)}`
        : `Host-bound: ${percent(shares.host)} of every step passes outside ${phases ? 'the model’s phases' : 'operators'}, in Python`;
  }
}

function inputOf({ time, facts }: RankView): string {
  if (time.copy > time.idle_data) return 'batches to be copied to it';
  return facts.input.inMain + facts.input.inWorkers > 0 ? 'DataLoader.__next__' : 'input';
}

function hostWorkOf({ time }: RankView): string {
  if (time.idle_compile > time.idle_host + time.idle_sync) return 'code to be compiled';
  return time.idle_sync > time.idle_host ? 'the host to come back from a read' : 'the host to launch work';
}

/** What to record so that the next answer is better. */
export function captureNext({ view, doubts }: Decision): string[] {
  const next: string[] = [];
  if (!view?.facts.hasHostEvents) next.push('record with ProfilerActivity.CPU and ProfilerActivity.CUDA');
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
