import { formatCount, formatWholePercent, type Share, share as shareOf } from '../../base/units.js';
import { PROFILER_LEFT_ON } from '../../facts/step-facts.js';
import { betweenSteps } from '../../facts/step-time.js';
import type { RankView } from '../ranks/rank-view.js';
import type { Decision } from './decide.js';
import { type DoubtId, isShortRun } from './doubts.js';
import { emptyingQueue } from './prefetch-queue.js';
import { MIN_NAMED, type Shares } from './shares.js';

/** The verdict for people: one sentence, and a second one about stragglers. */
export function verdictSentence(decision: Decision): string {
  const { addition, sentence = mainSentence(decision) } = decision;
  return addition === undefined ? sentence : `${sentence}. ${addition}`;
}

export function mainSentence({ bottleneck, guess, shares, doubts, view }: Decision): string {
  if (bottleneck === 'unknown' || !shares || !view) {
    const best = guess === 'unknown' ? '' : ` (best guess: ${guess})`;
    return `Unknown: ${doubts[0]?.text ?? 'the evidence does not decide'}${best}`;
  }
  return namedPart(bottleneck, shares, view) + largerPart(bottleneck, shares, view);
}

/** Where another part of the step is larger than the one that is named: which, and why it is not named. */
function largerPart(bottleneck: Named, shares: Shares, view: RankView): string {
  const own = shares[bottleneck === 'compute' ? 'gpu' : bottleneck];
  // Steps that will wait once the prefetch queue is empty do not wait yet.
  if (bottleneck === 'data' && emptyingQueue(view)) return '';
  if (shares.other > Math.max(own, shares.gpu))
    return `; what happens in another ${formatWholePercent(shares.other)} was not recorded`;
  if (shares.gpu <= own) return '';
  const remedy =
    bottleneck === 'comms'
      ? 'communication can be hidden behind it'
      : 'the wait can go without changing the model';
  return `; computing takes ${formatWholePercent(shares.gpu)}, but ${remedy}`;
}

type Named = Exclude<Decision['bottleneck'], 'unknown'>;

function namedPart(bottleneck: Named, shares: Shares, view: RankView): string {
  const { hasGpuWork } = view.facts;
  const phases = view.divided.phases;
  const waiter = hasGpuWork ? 'the GPU' : 'the job';
  const part = (of: keyof typeof shares) => `${formatWholePercent(shares[of])} of every ${stepOf(view)}`;
  switch (bottleneck) {
    case 'gpu':
      if (!phases) return `GPU-bound: the GPU computes ${part('gpu')}`;
      return phases.hostPaced === null
        ? `GPU-bound, as far as the event log shows: computing takes ${part('gpu')}`
        : `GPU-bound, as far as the event log shows: the GPU has queued work for ${part('gpu')}`;
    case 'compute':
      return `Compute-bound: ${phases ? 'the model’s phases' : 'operators'} on the CPU take ${part('gpu')}`;
    case 'data': {
      const queue = emptyingQueue(view);
      if (queue && shares.data < MIN_NAMED)
        return `Probably data-bound: the workers delivered ${formatCount(Math.round(queue.delivered), 'batch', 'batches')} while the steps used ${queue.taken}, so the prefetch queue is running empty`;
      return `Data-bound: ${waiter} spends ${part('data')} waiting for ${inputOf(view)}`;
    }
    case 'comms':
      return `Comms-bound: exposed communication takes ${part('comms')}`;
    case 'host':
      if (!hasGpuWork)
        return `Host-bound: ${part('host')} is spent in Python, outside ${phases ? 'the model’s phases' : 'operators'}`;
      if (phases && phases.hostPaced !== null && view.time.idle_host >= view.time.idle_sync)
        return `Host-bound, as far as the event log shows: for ${part('host')} the GPU has nothing queued and runs at the host’s pace`;
      return hostSentence(view, shares.host);
  }
}

/** The reported step has what lies between training steps too, and the shares of a verdict do not. */
const stepOf = (view: RankView) =>
  betweenSteps(view.step) >= SHOWN * view.step.unprofiled ? 'training step' : 'step';
/** Less is not shown in the step either. */
const SHOWN = 0.005;

function inputOf(view: RankView): string {
  if (Math.min(view.time.copy, view.copies.toDevice) > view.time.idle_data)
    return 'batches to be copied to it';
  if (view.source === 'log') return 'input';
  const { inMain, inWorkers } = view.facts.input;
  return inMain + inWorkers > 0 ? 'DataLoader.__next__' : 'input';
}

/** A part of the host's share from which on the rest need not be mentioned. */
const NEARLY_ALL = 0.8;

/** What the GPU waits for, the largest part by name. */
function hostSentence(view: RankView, share: Share): string {
  const { time, copies } = view;
  const reading = Math.min(time.copy, copies.toHost);
  const waits = [
    { ns: time.idle_host, to: 'launch work', what: 'the host to launch work' },
    { ns: time.idle_sync, to: RETURN, what: `the host to ${RETURN}` },
    { ns: time.idle_compile, to: 'compile code', what: 'code to be compiled' },
  ];
  const longest = waits.reduce((a, b) => (b.ns > a.ns ? b : a));
  const all = waits.reduce((sum, { ns }) => sum + ns, reading);
  const percent = (ns: number) => formatWholePercent(shareOf((share * ns) / (all || 1)));
  if (reading > longest.ns)
    return `Host-bound: ${percent(reading)} of every ${stepOf(view)} goes to copies to the host, ${percent(all - reading)} to waiting for the host`;
  const what = longest.ns >= NEARLY_ALL * all ? longest.what : `the host, mostly to ${longest.to}`;
  return `Host-bound: the GPU spends ${formatWholePercent(share)} of every ${stepOf(view)} waiting for ${what}`;
}

const RETURN = 'return from a read such as .item()';

const SIX_STEPS = 'record at least six steps after warm-up: schedule(wait=5, warmup=3, active=6)';

const BOTH_ACTIVITIES = 'record with ProfilerActivity.CPU and ProfilerActivity.CUDA';
const STEP_TIMES = 'add step times without the profiler (an event log)';

/** What settles a doubt. */
const REMEDIES: { readonly [id in DoubtId]?: string } = {
  'unseen-gpu': `${BOTH_ACTIVITIES}; if both were on, another profiler (nsys) may have been attached`,
  'several-runs': 'diagnose the traces of one run by themselves: name their files, or their folder',
  'profiler-cost': STEP_TIMES,
  'filled-queue': STEP_TIMES,
  'emptying-queue': STEP_TIMES,
  'untold-copies':
    'export the trace as JSON, which says where copies go: export_chrome_trace("trace.json.gz")',
  'trace-differs': 'record a longer window, so that it is like the run: whyslow run --trace-active 20 -- …',
};
const WHOLE_FILE =
  'record again, and let the job write the trace to its end; a full disk or a job that is killed cuts it';
const WITH_NSIGHT =
  'record with Nsight Systems, which also shows calls of the operating system: whyslow rules T20';
const WITHOUT_OWN_PROFILER =
  'run the job without its own profiler; `whyslow run` then records a window itself';
const WITH_STACKS = 'look at its stacks while it runs: whyslow triage --stacks';

/** What to record to get a better answer. */
export function captureNext({ view, doubts }: Decision): string[] {
  if (doubts.some(({ id }) => id === 'cut-file')) return [WHOLE_FILE];
  if (view && isShortRun(view)) return ['let the job run for at least 20 steps under `whyslow run`'];
  // What else is doubtful matters once the GPU is in the recording.
  const unseen = doubts.find(({ id }) => id === 'unseen-gpu');
  if (unseen) return [REMEDIES[unseen.id]!];
  if (view?.notes.some(({ code }) => code === PROFILER_LEFT_ON)) return [WITHOUT_OWN_PROFILER];
  const next = doubts.flatMap(({ id }) => REMEDIES[id] ?? []);
  if (doubts.some(({ id }) => id === 'unexplained-idle'))
    next.push(view?.facts.hasGpuWork ? WITH_NSIGHT : WITH_STACKS);
  if (!(view?.source === 'trace' && view.facts.hasHostEvents)) next.push(BOTH_ACTIVITIES);
  if (!view || view.facts.steps.source === 'window')
    next.push('call profiler.step() at the end of every step');
  if (view && view.facts.steps.count < 4) next.push(SIX_STEPS);
  return next.length > 0 ? [...new Set(next)] : [SIX_STEPS];
}
