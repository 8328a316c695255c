import { formatMs, formatWholePercent, ns, share } from '../../base/units.js';
import type { HostLine } from '../../diagnosis/ranks/host-lines.js';
import { competingThread } from '../../diagnosis/ranks/rank-activity.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { timeOf } from '../../facts/causes.js';
import { recurring } from '../../facts/job-time.js';
import type { FindingId } from '../../remedies/kit/finding-ids.js';
import { about, type Use, use } from '../../remedies/remedies.js';
import { lineText, timeEvidence } from '../kit/evidence.js';
import { sleepsMostly } from '../kit/loader.js';
import { priceOfStep } from '../kit/price.js';
import { type AnyRule, found, type Levels, type RankFinding, silent, threshold } from '../kit/rule.js';

const LEAST = threshold(
  'lines of the job',
  share(0.1),
  'of the training thread’s time',
  'our judgment: samples of a short run are off by a few percent',
);

interface Kind {
  readonly id: FindingId;
  readonly title: string;
  readonly remedy: Use;
  readonly confidence: number;
  /** What is left of their time. */
  readonly left: Levels;
  /** The thread must sleep there. */
  readonly waits?: true;
  /** It is the fault also of a line that another finding names. */
  readonly alsoNamed?: true;
  /** A job that waits for input may do it here. */
  readonly maybeInput?: true;
  test(line: HostLine): boolean;
}

const says = (pattern: RegExp) => (line: HostLine) => pattern.test([line.source, ...line.calls].join(' '));

/** An exponential average, however it is written: `d * a + (1 - d) * b`, `a.mul_(d).add_(b, alpha=1 - d)`, `a.lerp_(b, 1 - d)`. */
const AVERAGE =
  /\(\s*1(?:\.0?)?\s*-\s*[\w.]+\s*\)\s*\*|\*\s*\(\s*1(?:\.0?)?\s*-|alpha\s*=\s*1(?:\.0?)?\s*-|\blerp_?\(/;

const STARTS =
  /\b(?:Pool|ProcessPoolExecutor|ThreadPoolExecutor|Process|Popen)\(|\bsubprocess\.(?:run|call|check_\w+)\(|\bos\.(?:system|fork)\(/;

/** What may take the time of a line that does not train, the most specific first. */
const KINDS: readonly Kind[] = [
  {
    id: 'weights-copied',
    title: 'the weights are copied in Python every step (an EMA, a snapshot)',
    remedy: use('foreach-average'),
    confidence: 0.85,
    // One pass in place of: two copies, a product for each of two, a sum.
    left: { low: 0.5, likely: 0.2, high: 0.1 },
    test: (line) =>
      says(/deepcopy|state_dict\(\)|copy\.copy|\bema\b|update_parameters/i)(line) ||
      says(AVERAGE)(line) ||
      /ema\b|average/i.test(line.function),
  },
  {
    id: 'processes-started',
    title: 'processes are started in each step',
    remedy: use('pool-once'),
    confidence: 0.85,
    // The work itself stays.
    left: { low: 0.8, likely: 0.25, high: 0.02 },
    alsoNamed: true,
    test: says(STARTS),
  },
  {
    id: 'lock-wait',
    title: 'the training thread waits for another thread',
    remedy: use('shorter-lock'),
    confidence: 0.85,
    left: { low: 0.7, likely: 0.3, high: 0 },
    waits: true,
    maybeInput: true,
    test: says(/\bacquire\(|\bwith [\w.]*(?:lock|mutex|cond|sem)\w*\b|\.wait\(|\.join\(/i),
  },
  {
    id: 'sleeps',
    title: 'the training thread sleeps on a timer',
    remedy: use('no-sleep'),
    confidence: 0.85,
    left: { low: 0.5, likely: 0.1, high: 0 },
    waits: true,
    maybeInput: true,
    test: says(/\bsleep\(/),
  },
  {
    id: 'own-code',
    title: 'code outside the model takes a large part of each step',
    remedy: use('own-code'),
    confidence: 0.6,
    left: { low: 0.9, likely: 0.5, high: 0.1 },
    maybeInput: true,
    test: () => true,
  },
];

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'own-code',
    alias: 'W4',
    title: 'Code of the job outside the model takes a large part of each step',
    needs: 'stack samples of whyslow run',
    looksFor:
      'Lines of the job that hold the training thread and call neither the model, nor backward, nor an optimizer: copies of weights, locks, sleeps, loops in Python.',
    why: 'The step lasts until this code is done, whatever the model takes.',
    ...about('own-code'),
    thresholds: [LEAST],
  },
  check(view, run) {
    if (run.hostLines.length === 0) return silent('the training thread’s stack was not sampled');
    const captured = run.captured.get(view.rank);
    const all = run.hostLines.filter((line) => !trains(line));
    const lines = all.filter((line) => !isNamed(line, view));
    const sleeps = sleepsMostly(captured);
    for (const kind of KINDS) {
      if ((kind.waits && !sleeps) || (kind.maybeInput && run.verdict.bottleneck === 'data')) continue;
      const own = (kind.alsoNamed ? all : lines).filter((line) => kind.test(line));
      const counted = kind.id === 'own-code' ? own.slice(0, 1) : own;
      const part = share(
        Math.min(
          1,
          counted.reduce((sum, line) => sum + line.share, 0),
        ),
      );
      if (part >= LEAST.value) return found(findingOf(kind, counted, part, view, run));
    }
    return silent('no line outside the model takes a large part of the training thread’s time');
  },
};

/** Library calls that are training. */
const TRAINING =
  /^torch\.(?:nn\.|_tensor\.backward|autograd|optim\.|_functorch|func|_dynamo|_inductor|distributed|amp|compiler|fx)|_wrapped_call_impl|\.backward$|hooks\.(?:dataloader|collectives)|^(?:lightning|pytorch_lightning|transformers|accelerate|fastai|ignite|keras)\b/;
/** A line without a recorded call computes by itself: arithmetic on tensors, or Python. */
const TRAINS_HERE = /\bbackward\(|\.step\(\)|\bmodel\(|\bnet\(|loss\s*=|cross_entropy|\.fit\(|\.train\(/;

const trains = ({ calls, source }: HostLine): boolean =>
  calls.length > 0 ? TRAINING.test(calls[0]!) : TRAINS_HERE.test(source);

/** Lines that other findings name: input, and phases of the job. */
function isNamed({ file, line, calls }: HostLine, view: RankView): boolean {
  const place = `${file}:${line}`;
  const phases = recurring(view.job).flatMap((phase) => phase.line ?? []);
  return (
    [view.inputLine, ...phases].some((named) => named?.startsWith(place)) ||
    calls.some((call) => /torch\.utils\.data|whyslow_capture\.(?:job|hooks)/.test(call))
  );
}

function findingOf(
  { id, title, remedy, confidence, left }: Kind,
  lines: readonly HostLine[],
  part: number,
  view: RankView,
  { captured, verdict }: RunFacts,
): RankFinding {
  const time = ns(part * view.step.unprofiled);
  const [first] = lines;
  const more = lines.length > 1 ? ` and ${lines.length - 1} more` : '';
  const holder = id === 'lock-wait' ? competingThread(captured.get(view.rank))?.line : null;
  const held = holder ? `; meanwhile thread ${holder.thread} is at ${holder.file}:${holder.line}` : '';
  const text = `stack samples: ${formatMs(time)} per step (${formatWholePercent(share(part))} of the training thread’s time) at ${lineText(first!)}${more}${held}`;
  return {
    id,
    title,
    confidence,
    // Copies of tensors look like computing, waits like Python.
    addresses: verdict.bottleneck === 'unknown' ? 'host' : timeOf(verdict.bottleneck),
    evidence: [timeEvidence(view, time, text)],
    price: priceOfStep(view, (level) => view.step.unprofiled - time * (1 - left[level])),
    remedy,
  };
}
