import type { RankView } from '../ranks/rank-view.js';
import type { Decision } from './decide.js';

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** The answer for a person, in one sentence. */
export function verdictSentence(decision: Decision): string {
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

function inputOf(view: RankView): string {
  if (view.time.copy > view.time.idle_data) return 'batches to be copied to it';
  if (view.source === 'log') return 'input';
  const { inMain, inWorkers } = view.facts.input;
  return inMain + inWorkers > 0 ? 'DataLoader.__next__' : 'input';
}

function hostWorkOf({ time }: RankView): string {
  if (time.idle_compile > time.idle_host + time.idle_sync) return 'code to be compiled';
  return time.idle_sync > time.idle_host ? 'the host to come back from a read' : 'the host to launch work';
}

/** What to record so that the next answer is better. */
export function captureNext({ view, doubts }: Decision): string[] {
  const next: string[] = [];
  if (!(view?.source === 'trace' && view.facts.hasHostEvents))
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
