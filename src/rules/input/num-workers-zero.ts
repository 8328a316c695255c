import { mean } from '../../base/statistics.js';
import {
  formatCount,
  formatMs,
  formatWholePercent,
  fromMs,
  ms,
  type Ns,
  ns,
  share,
} from '../../base/units.js';
import type { LogView, RankView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { CapturedRank } from '../../diagnosis/run-facts.js';
import type { InputKind } from '../../facts/rank-facts.js';
import { about, use } from '../../remedies/remedies.js';
import { dropInputWaits } from '../../replay/edits.js';
import { atInputWait, percentOfStep, timeEvidence } from '../kit/evidence.js';
import {
  batchWork,
  coresOf,
  INPUT_WAIT,
  limitOf,
  planWorkers,
  silentIfFed,
  sleepsMostly,
  USUAL_WORKERS,
  unsplitBy,
  withoutWorkers,
} from '../kit/loader.js';
import { isWorthwhile, priceOf, priceOfStep } from '../kit/price.js';
import {
  type AnyRule,
  found,
  type Levels,
  type RankFinding,
  type Silent,
  silent,
  threshold,
} from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  lines: /torch\.utils\.data|DataLoader|next\(|load/i,
  unpriced: 'allowed',
  smallGain: 'allowed',
  info: {
    id: 'num-workers-zero',
    alias: 'T4',
    title: 'Batches are made on the training thread (num_workers=0)',
    needs: 'trace, events, script or config',
    looksFor:
      'The GPU is idle during DataLoader.__next__ of a _SingleProcessDataLoaderIter: decoding, augmentation and collation happen between the steps.',
    why: 'While the main process prepares a batch it launches nothing, so the GPU waits. Worker processes prepare the next batches during the step.',
    more: 'Each worker is a process with its own memory: too many end in “DataLoader worker killed”, or a bare “Killed” from the container. Once the GPU is fed, more workers gain nothing.',
    ...about('loader-workers'),
    thresholds: [
      INPUT_WAIT,
      threshold(
        'workers priced',
        USUAL_WORKERS.likely,
        'processes',
        `low ${USUAL_WORKERS.low}, high ${USUAL_WORKERS.high}, if the number of cores is unknown; otherwise as many as the step needs, at most one per core`,
      ),
    ],
  },
  check(view, run) {
    const captured = run.captured.get(view.rank);
    const seen = inputSeen(view, captured);
    if ('silent' in seen) return seen;
    return silentIfFed(view) ?? found(findingOf(view, captured, seen));
  },
};

/** How the step waits for input, and what shows it. */
interface Seen {
  readonly id: 'num-workers-zero' | 'input-on-training-thread' | 'fed-input' | 'input-wait';
  readonly confidence: number;
  /** What shows the wait. */
  text(exposed: Ns): string;
  /** Time to make a batch, if it is longer than the wait. ns. */
  readonly fetch: number;
  /** Stack samples show that the loop has no DataLoader, and how it gets its batches. */
  readonly inLoop?: InputKind;
}

function inputSeen(view: RankView, captured: CapturedRank | undefined): Seen | Silent {
  const line = view.inputLine;
  if (line !== null) {
    const inLoop = view.inputKind ?? 'generator';
    const what =
      inLoop === 'generator' ? 'to make the next batch, mostly in' : 'waiting for a batch, mostly at';
    return {
      id: inLoop === 'generator' ? 'input-on-training-thread' : 'fed-input',
      confidence: 0.8,
      text: (exposed) =>
        `stack samples: ${formatMs(exposed)} per step (${percentOfStep(view, exposed)}) ${what} ${line}`,
      fetch: 0,
      inLoop,
    };
  }
  return view.source === 'log' ? seenInLog(view, captured) : seenInTrace(view, captured);
}

function seenInTrace(view: TraceView, captured: CapturedRank | undefined): Seen | Silent {
  const { input, steps, hasGpuWork } = view.facts;
  if (input.inMain === 0 && input.inferred === 0)
    return silent(
      input.inWorkers > 0 ? 'the loader already has workers' : 'no DataLoader found on the training thread',
    );
  const marked = input.inMain > 0;
  const where = marked
    ? '_SingleProcessDataLoaderIter.__next__'
    : 'from the start of a step to the copy of its batch';
  const fetch = mean(input.waitPerStep);
  return {
    id: marked ? 'num-workers-zero' : 'input-on-training-thread',
    // Without a loader's span, the beginning of a step is taken for it.
    confidence: marked ? 0.97 : 0.65,
    text: (exposed) => {
      const idle = hasGpuWork ? `${formatMs(exposed)} of it with the GPU idle` : 'while nothing computes';
      return `${where}: ${formatMs(ns(Math.max(fetch, exposed)))} per step on the training thread, ${idle} (${percentOfStep(view, exposed)} of the step, over ${formatCount(steps.count, 'step')})${whatItDoes(captured)}`;
    },
    fetch,
  };
}

/** A log of phases shows that steps wait for input. Only capture's manifest shows how it is loaded. */
function seenInLog(view: LogView, captured: CapturedRank | undefined): Seen | Silent {
  const workers = captured?.loader?.numWorkers;
  if ((workers ?? 0) > 0) return silent('the loader already has workers');
  return {
    id: workers === 0 ? 'num-workers-zero' : 'input-wait',
    confidence: workers === 0 ? 0.95 : 0.6,
    text: (exposed) =>
      `data_wait: ${formatMs(exposed)} per step (${percentOfStep(view, exposed)} of the step, over ${formatCount(view.facts.steps.count, 'step')})${whatItDoes(captured)}`,
    fetch: fromMs(ms(captured?.loader?.fetchMs ?? 0)),
  };
}

const TITLES = {
  'num-workers-zero': 'num_workers=0 loads every batch on the training thread',
  'input-on-training-thread': 'each batch is made on the training thread before the step',
  'input-wait': 'steps wait for input: look at num_workers first',
} as const;
const FED = {
  await: 'the loop awaits batches that a coroutine makes one by one',
  queue: 'the loop waits for a thread to put a batch into its queue',
  message: 'the loop waits for another process to send a batch',
  future: 'the loop waits for the result of a pool to have its batch',
  generator: TITLES['input-on-training-thread'],
} as const;

function findingOf(view: RankView, captured: CapturedRank | undefined, seen: Seen): RankFinding {
  const { id, confidence, text, fetch, inLoop } = seen;
  const exposed = view.time.idle_data;
  const evidence = timeEvidence(view, exposed, text(exposed));
  const placed = view.source === 'trace' && !inLoop ? atInputWait(view, evidence) : evidence;
  const base = {
    id,
    title: id === 'fed-input' ? FED[inLoop!] : TITLES[id],
    confidence,
    addresses: 'data',
    evidence: [placed],
  } as const;
  const atBest = formatMs(ns(view.step.unprofiled - exposed));
  const hasGpu = view.facts.hasGpuWork;
  if (id === 'input-wait') return { ...base, price: null, remedy: use('check-workers', { hasGpu, atBest }) };
  if (inLoop === 'generator' && view.job?.iteration?.rollout === true)
    return {
      ...base,
      title: 'each iteration waits for its rollout: the environments run one after the other',
      price: priceOfStep(view, (level) => view.step.unprofiled - exposed * (1 - 1 / ENVIRONMENTS[level])),
      remedy: use('more-environments', { environments: ENVIRONMENTS.likely, sleeps: sleepsMostly(captured) }),
    };
  if (inLoop && inLoop !== 'generator') return { ...base, ...moreProducers(view, captured, inLoop) };
  // The log may show longer waits than the few steps of the trace.
  const per = Math.max(fetch, exposed);
  const loader = inLoop ? null : captured?.loader;
  const step = { per, step: view.step.unprofiled, wait: exposed };
  const plan = planWorkers(batchWork(loader, per), step, captured);
  const price =
    (inLoop ? null : priceOf(view, dropInputWaits, plan.floor)) ??
    priceOfStep(view, (level) => Math.max(view.step.unprofiled - exposed, plan.floor(level)));
  if (!inLoop && plan.coresKnown && !isWorthwhile(price))
    return { ...base, price: null, remedy: withoutWorkers(loader, per, coresOf(captured), hasGpu) };
  return {
    ...base,
    price,
    remedy: use('loader-workers', {
      workers: plan.workers,
      cores: coresOf(captured),
      pin: hasGpu && loader?.pinMemory !== true,
      sleep: limitOf(loader) === 'io',
      busy: limitOf(loader) === 'cores',
      unsplit: unsplitBy(plan.workers, loader),
      datasetKnown: loader !== null && loader !== undefined,
      ...(inLoop ? { inLoop: true, atBest } : {}),
    }),
  };
}

/** Environments at a time: as many as surely help, as people use, as help if they only wait. */
const ENVIRONMENTS: Levels = { low: 2, likely: 4, high: 8 };

/** A thread that runs this much of the time computes; one that runs less waits for something. */
const COMPUTES = 0.5;
const MOST_PRODUCERS = 32;
/** Producers at a time slow each other down, or share a store. */
const SHARED: Levels = { low: 2, likely: 1.25, high: 1 };

/** While the loop waits, whoever makes its batches needs a step for each. */
function moreProducers(
  view: RankView,
  captured: CapturedRank | undefined,
  kind: Exclude<InputKind, 'generator'>,
): Pick<RankFinding, 'price' | 'remedy'> {
  const { unprofiled: whole } = view.step;
  const step = Math.max(1, whole - view.time.idle_data);
  const ran = captured?.cpu ? captured.cpu.used - (captured.cpu.threadRan ?? 0) : 0;
  const computes = ran >= COMPUTES;
  const most = computes ? (coresOf(captured) ?? USUAL_WORKERS.likely) : MOST_PRODUCERS;
  const producers = Math.max(2, Math.min(most, Math.ceil((SHARED.likely * whole) / step)));
  return {
    price: priceOfStep(view, (level) => Math.max(step, (SHARED[level] * whole) / producers)),
    remedy: use('fed-input', { kind, computes, producers, atBest: formatMs(ns(step)) }),
  };
}

/** `; it computes 98% of that time`: what capture saw of the requests. */
function whatItDoes(captured: CapturedRank | undefined): string {
  const loader = captured?.loader;
  const percent = (part: number | null | undefined) => formatWholePercent(share(part ?? 0));
  switch (loader?.numWorkers === 0 ? limitOf(loader) : 'unknown') {
    case 'cpu':
      return `; it computes for ${percent(loader?.fetchRan)} of that time`;
    case 'io':
      return `; it sleeps for ${percent(1 - (loader?.fetchRan ?? 0) - (loader?.fetchQueued ?? 0))} of that time, as reads do`;
    case 'cores':
      return `; it waits for a free core for ${percent(loader?.fetchQueued)} of that time`;
    default:
      return '';
  }
}
