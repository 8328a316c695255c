import { formatCount, formatWholePercent, type Share, share as shareOf } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { Bottleneck } from '../../facts/causes.js';
import { betweenSteps } from '../../facts/step-facts.js';
import type { Words } from '../kit/claim.js';
import { hedged, labelOf, words } from '../kit/words.js';
import { emptyingQueue } from './prefetch-queue.js';
import { copiesResults, MIN_NAMED, type Shares, type VerdictClass } from './shares.js';

type Named = Exclude<Bottleneck, 'unknown'>;

/** What limits the steps of one rank, in words. */
export function stepWords(bottleneck: Named, shares: Shares, view: RankView): Words {
  const { label, headline } = namedPart(bottleneck, shares, view);
  return words(label, headline, ...largerPart(bottleneck, shares, view));
}

/** If another part of the step is larger than the one that is named: which, and why it is not named. */
function largerPart(bottleneck: Named, shares: Shares, view: RankView): string[] {
  const own = shares[bottleneck === 'compute' ? 'gpu' : bottleneck];
  // Steps that will wait once the prefetch queue is empty do not wait yet.
  if (bottleneck === 'data' && emptyingQueue(view)) return [];
  if (shares.other > Math.max(own, shares.gpu))
    return [`Another ${formatWholePercent(shares.other)} of the step was not recorded`];
  if (shares.gpu <= own) return [];
  const remedy =
    bottleneck === 'comms'
      ? 'communication can be hidden behind it'
      : 'the wait can be removed without changing the model';
  return [`Computing takes ${formatWholePercent(shares.gpu)}, but ${remedy}`];
}

function namedPart(bottleneck: Named, shares: Shares, view: RankView): Words {
  const { hasGpuWork } = view.facts;
  const phases = view.divided.phases;
  const waiter = hasGpuWork ? 'the GPU' : 'the job';
  const label = labelOf(bottleneck);
  const asLogged = labelOf(bottleneck, ', as far as the event log shows');
  const part = (of: VerdictClass) => `${formatWholePercent(shares[of])} of ${stepOf(view)}`;
  switch (bottleneck) {
    case 'gpu':
      if (!phases) return words(label, `the GPU computes ${part('gpu')}`);
      return phases.hostPaced === null
        ? words(asLogged, `computing takes ${part('gpu')}`)
        : words(asLogged, `the GPU has queued work for ${part('gpu')}`);
    case 'compute':
      return words(label, `${phases ? 'the model’s phases' : 'operators'} on the CPU take ${part('gpu')}`);
    case 'data': {
      const queue = emptyingQueue(view);
      if (queue && shares.data < MIN_NAMED)
        return words(
          hedged('Probably', 'data'),
          `the workers delivered ${formatCount(Math.round(queue.delivered), 'batch', 'batches')} while the steps used ${queue.taken}, so the prefetch queue is running empty`,
        );
      if (copiesResults(view)) return words(label, `${part('data')} goes to copies between host and device`);
      return words(label, `${waiter} spends ${part('data')} waiting for ${inputOf(view)}`);
    }
    case 'comms':
      return words(label, `exposed communication takes ${part('comms')}`);
    case 'host':
      if (!hasGpuWork)
        return words(
          label,
          `${part('host')} is spent in Python, outside ${phases ? 'the model’s phases' : 'operators'}`,
        );
      if (phases && phases.hostPaced !== null && view.time.idle_host >= view.time.idle_sync)
        return words(asLogged, `for ${part('host')} the GPU has nothing queued and runs at the host’s pace`);
      return words(label, hostHeadline(view, shares.host));
  }
}

/** The reported step includes what happens between training steps. The shares of a verdict do not. */
function stepOf(view: RankView): string {
  if (view.divided.steps.source === 'window') return 'the recorded time';
  if (view.source === 'trace' && view.facts.steps.total < 2) return 'the recorded step';
  return betweenSteps(view.step) >= SHOWN * view.step.unprofiled ? 'every training step' : 'every step';
}
/** Less is not shown in the step either. */
const SHOWN = 0.005;

function inputOf(view: RankView): string {
  if (Math.min(view.time.copy, view.copies.toDevice) > view.time.idle_data)
    return view.source === 'trace' && view.facts.program.task !== 'training'
      ? 'data to be copied to it'
      : 'batches to be copied to it';
  if (view.source === 'log') return 'input';
  const { inMain, inWorkers } = view.facts.input;
  return inMain + inWorkers > 0 ? 'DataLoader.__next__' : 'input';
}

/** A part of the host's share from which on the rest need not be mentioned. */
const NEARLY_ALL = 0.8;

/** What the GPU waits for, the largest part by name. */
function hostHeadline(view: RankView, share: Share): string {
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
    return `${percent(reading)} of ${stepOf(view)} goes to copies to the host, ${percent(all - reading)} to waiting for the host`;
  const what = longest.ns >= NEARLY_ALL * all ? longest.what : `the host, mostly to ${longest.to}`;
  return `the GPU spends ${formatWholePercent(share)} of ${stepOf(view)} waiting for ${what}`;
}

const RETURN = 'return from a read such as .item()';
