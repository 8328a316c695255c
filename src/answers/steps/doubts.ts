import type { HealthProblem } from '../../base/check.js';
import { ns, share } from '../../base/units.js';
import { LEAST_LEFT } from '../../diagnosis/ranks/correct-step.js';
import { type RankView, recordedBy, unseenGpu } from '../../diagnosis/ranks/rank-view.js';
import {
  type DeviceKind,
  deviceName,
  insteadOfUnread,
  isRecordable,
  markSteps,
  NO_KERNELS,
  RECORD_KERNELS,
  recordBoth,
  recordSteps,
  vendorTool,
} from '../../facts/accelerator.js';
import { isMeasured, MAY_BE_HIDDEN, PROFILER_LEFT_ON } from '../../facts/step-facts.js';
import { sumOfClasses } from '../../facts/time-class.js';
import type { Doubt } from '../kit/claim.js';
import { emptyingQueue, mayHideSlowWorkers } from './prefetch-queue.js';
import {
  bestClass,
  type Judgment,
  type Shares,
  SURE_ENOUGH,
  sharesAsRecorded,
  sharesOf,
  type VerdictClass,
} from './shares.js';

/** `by`: the confidence drops by this much. `atMost`: it cannot be higher than this. */
interface Effect {
  readonly by: number;
  readonly atMost: number;
}

interface DoubtCheck {
  readonly id: string;
  readonly text: string | ((view: RankView) => string);
  /** What to record or do to settle it, if that depends on nothing else the checks look at. */
  readonly settledBy?: string | ((view: RankView) => string);
  /** Until this is settled, nothing else matters. */
  readonly comesFirst?: true;
  /** Null: no reason to doubt. */
  check(judgment: Judgment): Effect | null;
}

const by = (amount: number): Effect => ({ by: amount, atMost: 1 });
const atMost = (limit: number): Effect => ({ by: 0, atMost: limit });
const when = (condition: boolean, effect: Effect): Effect | null => (condition ? effect : null);

/** What an event log of a GPU job knows. Null for a trace, and for a log of a job without GPU. */
const gpuLog = (view: RankView) => {
  const { phases } = view.divided;
  return phases && !phases.allHost ? phases : null;
};
const hasNote = ({ notes }: RankView, code: string) => notes.some((note) => note.code === code);
const isNumber = (value: unknown) => typeof value === 'number';

/** No training step is shorter. */
const SHORTEST_STEP_NS = 10_000;

/** Not one operator and no GPU work, as in a window that the end of the job cut off. */
const computesNothing = (view: RankView) =>
  view.divided.by === 'trace' && !view.facts.hasGpuWork && view.facts.time.compute === 0;

/** Start-up that takes this share of what was recorded distorts everything else. */
const COLD = 0.2;
/** If the unexplained part is nearly as large as the named one, it may be the answer. If it is as large, it is as likely. */
const NEARLY_AS_LARGE = 0.6;
const AS_LARGE = 0.9;
/** With fewer pieces of GPU work, what the device waits for may be anything. */
const FEW_WORKS = 10;
/** A shorter recording of something that happens once is a few operators, not a job. */
const LITTLE_NS = 1_000_000;
/** A trace shows what happens inside each step. A log of fewer steps than this shows only their warm-up. */
const isShortRun = (view: RankView) => view.source === 'log' && view.facts.steps.count < 3;

const isByNsys = (view: RankView | null): boolean =>
  view?.source === 'trace' && view.facts.accelerator.byNsys;

/** The device of a view. A job whose recording shows none may still have one: most have CUDA. */
const deviceOf = (view: RankView | null): DeviceKind =>
  view?.source === 'trace' ? view.facts.accelerator.kind : 'none';

const sixSteps = (view: RankView | null) => recordSteps('at least six steps after warm-up', recordedBy(view));
const STEP_TIMES = 'add step times without the profiler (an event log)';

/** The checks, in the order in which their effects apply. The amounts are those of docs/method/confidence.md. */
export const DOUBT_CHECKS = [
  {
    id: 'unread-device',
    text: (view) =>
      `the recording is of ${deviceName(deviceOf(view))}, and its device events are not understood`,
    settledBy: (view) => insteadOfUnread(deviceOf(view)),
    comesFirst: true,
    check: ({ view }) => when(unseenGpu(view) === 'unread', atMost(0.2)),
  },
  {
    id: 'unseen-gpu',
    text: 'no GPU work was recorded, although there is a GPU',
    settledBy: (view) => {
      const kind = deviceOf(view);
      if (!isRecordable(kind)) return recordBoth(kind);
      const tool = kind === 'cuda' || kind === 'none' ? ' (nsys)' : '';
      return `${recordBoth(kind)}; if both were on, another profiler${tool} may have been attached`;
    },
    comesFirst: true,
    // The host's time means nothing without the GPU's. But a job that is busy in its operators may not use the GPU at all.
    check: ({ view, best }) => {
      const unseen = unseenGpu(view);
      return unseen && unseen !== 'unread'
        ? atMost(unseen === 'listed' && best === 'gpu' ? 0.55 : 0.4)
        : null;
    },
  },
  {
    id: 'no-model-phase',
    text: 'no phase of the model was recorded, so what the steps do is unknown',
    // A device's clock shows at least that the device had work.
    check: ({ view: { facts }, best }) =>
      when(best === 'gpu' && facts.phases?.allHost === true && !facts.phases.modelTimed, atMost(0.4)),
  },
  {
    id: 'profiler-cost',
    text: "the profiler's own cost decides between two answers",
    settledBy: STEP_TIMES,
    check: (judgment) => {
      const other = answerAtOtherCost(judgment);
      // A close second is named too, so it matters less which of the two comes first.
      return other && by(other === judgment.second ? 0.05 : 0.2);
    },
  },
  {
    id: 'profiler-attached',
    text: 'a profiler was attached to the GPU in the measured steps, which slows the host',
    check: ({ view, best }) => when(best === 'host' && hasNote(view, 'step-with-profiler'), by(0.15)),
  },
  {
    id: 'trace-differs',
    text: 'the steps in the trace differ from those in the event log',
    settledBy: 'record a longer window, so that it represents the run: whyslow run --trace-active 20 -- …',
    // It matters less if both name the same class: each is a measurement of its own. And a window from before or after a lasting
    // change is one of the whole run's states.
    check: ({ view, best, lateComputing }) =>
      when(
        hasNote(view, 'trace-differs'),
        by(traceAgrees(view, best, lateComputing) || isOfOneState(view) ? 0.05 : 0.2),
      ),
  },
  {
    id: 'slowed-by-profiler',
    text: 'the profiler made steps over 1.5× as long',
    check: ({ view }) => when(hasNote(view, 'slowed-by-profiler'), by(0.05)),
  },
  {
    id: 'one-step',
    text: 'only one step could be measured',
    check: ({ view }) => {
      const { source, count } = view.divided.steps;
      // Nothing shows that other steps are like it.
      return when(source !== 'window' && count < 2, { by: 0.12, atMost: 0.75 });
    },
  },
  {
    id: 'short-run',
    text: 'fewer than three steps were recorded after warm-up',
    settledBy: 'let the job run for at least 20 steps under `whyslow run`',
    comesFirst: true,
    check: ({ view }) => when(isShortRun(view), atMost(0.45)),
  },
  {
    id: 'irregular-steps',
    text: 'step times vary a lot and few steps were recorded',
    check: ({ view }) => {
      const { irregular, count } = view.divided.steps;
      return when(irregular && count > 1 && count < 6, by(0.1));
    },
  },
  {
    id: 'empty-window',
    text: 'hardly anything happens in the recorded window',
    check: ({ view, best }) =>
      when(
        !(view.step.unprofiled >= SHORTEST_STEP_NS) || (best === 'host' && computesNothing(view)),
        by(0.6),
      ),
  },
  {
    id: 'emptying-queue',
    text: 'the workers delivered fewer batches than the steps used, and the queue was not yet empty when the recording ended',
    settledBy: STEP_TIMES,
    // Not where steps wait already.
    check: ({ view, best, shares, lateComputing }) =>
      when(
        best === 'data' && emptyingQueue(view) !== null && bestClass(shares, lateComputing) !== 'data',
        atMost(0.55),
      ),
  },
  {
    id: 'filled-queue',
    text: 'few steps were recorded: workers may have filled the prefetch queue while the profiler started',
    settledBy: STEP_TIMES,
    check: ({ view, best }) => when(best !== 'data' && mayHideSlowWorkers(view), atMost(0.75)),
  },
  {
    id: 'untold-copies',
    text: 'the trace does not show the direction of its copies: they may be input',
    settledBy:
      'export the trace as JSON, which shows the direction of copies: export_chrome_trace("trace.json.gz")',
    check: ({ view, best, shares, lateComputing }) => {
      const untold = untoldCopies(view, shares);
      if (best !== 'gpu' || untold === 0) return null;
      const asInput = { ...shares, gpu: share(shares.gpu - untold), data: share(shares.data + untold) };
      return when(bestClass(asInput, lateComputing) !== 'gpu', atMost(0.45));
    },
  },
  {
    id: 'unexplained-idle',
    text: 'much of the idle time has no recorded reason',
    settledBy: (view) => {
      const tool = view.facts.hasGpuWork ? vendorTool(deviceOf(view)) : null;
      return tool
        ? `record with ${tool}, which also shows operating-system calls: whyslow rules T20`
        : 'look at its stacks while it runs: whyslow triage --stacks';
    },
    check: ({ shares, best }) =>
      when(shares.other > 0.3, {
        by: 0.3 * shares.other,
        atMost:
          shares.other > AS_LARGE * shares[best]
            ? 0.4
            : shares.other > NEARLY_AS_LARGE * shares[best]
              ? 0.5
              : 1,
      }),
  },
  {
    id: 'replay-differs',
    text: 'replaying the step does not reproduce it',
    check: ({ view }) =>
      when(view.source === 'trace' && view.baseline !== null && !view.baseline.faithful, by(0.1)),
  },
  {
    id: 'log-shows-less',
    text: 'an event log shows less than a trace',
    check: ({ view, best }) => {
      if (!view.divided.phases) return null;
      const log = gpuLog(view);
      if (!log || best === 'data' || best === 'comms') return by(0.1);
      if (best === 'host') return when(log.hostPaced === null, by(0.1));
      // The log recorded that the GPU had queued work.
      return when(log.hostPaced !== null, atMost(0.85));
    },
  },
  {
    id: 'log-hides-idle',
    text: 'an event log does not separate computing from waiting for launches',
    // A phase timed on the GPU looks like computing, however idle the GPU is inside it.
    check: ({ view, best }) => when(best === 'gpu' && gpuLog(view)?.hostPaced === null, atMost(0.6)),
  },
  {
    id: 'host-pace-length',
    text: 'how long the GPU was idle while the host set the pace is unknown',
    check: ({ view, best }) => when(best === 'host' && isNumber(gpuLog(view)?.hostPaced), atMost(0.75)),
  },
  {
    id: 'hidden-delay',
    text: 'an event log does not show whether the others wait for a late rank, or its delay is hidden behind its gradients being sent',
    check: ({ view }) => when(hasNote(view, MAY_BE_HIDDEN), by(0.15)),
  },
  {
    id: 'no-host-events',
    text: 'no host events were recorded',
    check: ({ view }) => when(view.source === 'trace' && !view.facts.hasHostEvents, by(0.25)),
  },
  {
    id: 'dropped-operators',
    text: 'operators were left out of the trace, so making batches looks like other work of the host',
    settledBy: 'diagnose the whole trace, or slim it without --drop cpu_op',
    check: ({ view, best }) =>
      when(
        best === 'host' &&
          view.source === 'trace' &&
          view.facts.unprofiledShare !== null &&
          !view.facts.detail?.operators.some(({ name }) => name.startsWith('aten::')),
        atMost(0.6),
      ),
  },
  {
    id: 'correction-decides',
    text: 'the answer changes when the profiler’s cost is subtracted, and that cost is an estimate',
    settledBy: STEP_TIMES,
    check: ({ view, lateComputing }) =>
      when(
        correctionDecides(view, lateComputing),
        atMost(view.step.unprofiled < 0.5 * view.step.recorded ? 0.5 : 0.6),
      ),
  },
  {
    id: 'correction-at-its-limit',
    text: 'the profiler’s estimated cost is as large as whyslow ever subtracts',
    settledBy: STEP_TIMES,
    check: ({ view }) => when(isAtFloor(view), atMost(0.5)),
  },
  {
    id: 'inferred-steps',
    text: 'nothing marks the steps: a step is what the launches repeat',
    check: ({ view }) => when(view.divided.steps.source === 'launches', atMost(0.5)),
  },
  {
    id: 'only-copies',
    text: 'the GPU ran no kernels, only copies',
    settledBy: 'record a part of the job in which the model runs',
    check: ({ view }) =>
      when(
        view.source === 'trace' && view.facts.hasGpuWork && view.facts.accelerator.kernels === 0,
        atMost(0.5),
      ),
  },
  {
    id: 'unmarked-input',
    text: 'steps are known by their optimizer only, so the time before a batch is copied may be other work of the host, such as garbage collection',
    settledBy: 'mark each step: prof.step(), or record a window with whyslow run',
    check: ({ view, best }) =>
      when(
        best === 'data' &&
          view.source === 'trace' &&
          view.divided.steps.source === 'optimizer' &&
          view.facts.input.inferred > 0,
        atMost(0.5),
      ),
  },
  {
    id: 'no-steps',
    text: 'the recording shows no step twice',
    settledBy: sixSteps,
    check: ({ view }) => when(view.divided.steps.source === 'window', { by: 0.1, atMost: 0.5 }),
  },
  {
    id: 'cold-start',
    text: 'much of the recording is start-up: creating a context, loading code, compiling or capturing a graph',
    settledBy: (view) => recordSteps('warm steps', recordedBy(view)),
    comesFirst: true,
    // It says nothing about the steps of the log.
    check: ({ view }) =>
      when(
        view.source === 'trace' && view.divided.by === 'trace' && (view.facts.startUp?.left ?? 0) >= COLD,
        atMost(0.4),
      ),
  },
  {
    id: 'little-recorded',
    text: 'too little was recorded: no step twice, and hardly any work',
    settledBy: sixSteps,
    check: ({ view, best }) => {
      if (view.source !== 'trace' || view.facts.steps.total > 1) return null;
      const works = view.facts.kernels.reduce((sum, k) => sum + k.count, 0);
      const isIdle = best !== 'gpu' && view.facts.hasGpuWork && works < FEW_WORKS;
      return when(isIdle || view.step.recorded < LITTLE_NS, atMost(0.4));
    },
  },
] as const satisfies readonly DoubtCheck[];

export type DoubtId =
  | (typeof DOUBT_CHECKS)[number]['id']
  | 'poor-health'
  | 'several-runs'
  | 'cut-file'
  | typeof NO_KERNELS
  | 'no-evidence';

const HEALTH_DOUBTS: Readonly<Record<string, Omit<Doubt, 'text'>>> = {
  'disjoint-windows': {
    id: 'several-runs',
    settledBy: 'diagnose the traces of one run alone: pass their files or their folder',
  },
  [NO_KERNELS]: { id: NO_KERNELS, settledBy: RECORD_KERNELS, comesFirst: true },
  'lost-calls': {
    id: 'cut-file',
    settledBy:
      'record again, and let the job finish writing the trace; a full disk or a killed job truncates it',
    comesFirst: true,
  },
};

/** What a severe problem of the input makes doubtful. */
export const healthDoubt = ({ code, message }: Pick<HealthProblem, 'code' | 'message'>): Doubt => ({
  ...(HEALTH_DOUBTS[code] ?? { id: 'poor-health', settledBy: null }),
  text: message,
});

/** Applies every check to a first confidence. */
export function applyDoubts(judgment: Judgment, certainty: number) {
  let confidence = certainty;
  const doubts: Doubt[] = [];
  let decisive = 0;
  for (const { id, text, settledBy = null, comesFirst, check } of DOUBT_CHECKS as readonly DoubtCheck[]) {
    const effect = check(judgment);
    if (effect === null) continue;
    confidence = Math.min(confidence - effect.by, effect.atMost);
    // What makes the answer unknown by itself comes before what only lowers the confidence.
    const at = effect.atMost < SURE_ENOUGH ? decisive++ : doubts.length;
    doubts.splice(at, 0, {
      id,
      text: typeof text === 'function' ? text(judgment.view) : text,
      settledBy: typeof settledBy === 'function' ? settledBy(judgment.view) : settledBy,
      ...(comesFirst ? { comesFirst } : {}),
    });
  }
  return { confidence, doubts };
}

/** What to record to get an answer: what settles the doubts, and what every recording should have. */
export function captureNext(view: RankView | null, doubts: readonly Doubt[]): string[] {
  const first = doubts.find((d) => d.comesFirst);
  if (first?.settledBy) return [first.settledBy];
  if (view && hasNote(view, PROFILER_LEFT_ON))
    return ['run the job without its own profiler; `whyslow run` then records a window itself'];
  const next = doubts.flatMap((d) => d.settledBy ?? []);
  if (!(view?.source === 'trace' && view.facts.hasHostEvents))
    next.push(isByNsys(view) ? RECORD_KERNELS : recordBoth(deviceOf(view)));
  if (!view || view.facts.steps.source === 'window') next.push(markSteps(recordedBy(view)));
  if (view && view.facts.steps.count < 4) next.push(sixSteps(view));
  return next.length > 0 ? [...new Set(next)] : [sixSteps(view)];
}

/** The steps of the trace, although they differ in length from those of the log, have the same answer. */
const traceAgrees = (view: RankView, best: VerdictClass, lateComputing: number): boolean =>
  view.source === 'trace' && bestClass(sharesOf(view, view.facts.time), lateComputing) === best;

/** The pace of the run changed, and the window has the pace of before or after. */
function isOfOneState(view: RankView): boolean {
  const change = view.source === 'trace' ? view.log?.facts.change : null;
  if (!change) return false;
  return [change.before, change.after].some(
    (state) => Math.max(state / view.step.recorded, view.step.recorded / state) <= ONE_STATE,
  );
}

/** As steps of a trace and of a log are alike (diagnosis/ranks/join-log.ts). */
const ONE_STATE = 1.5;

/** The division as recorded names another bottleneck than the one without the profiler's estimated cost. */
function correctionDecides(view: RankView, lateComputing: number): boolean {
  const recorded = emptyingQueue(view) ? null : sharesAsRecorded(view);
  return recorded !== null && bestClass(recorded, lateComputing) !== bestClass(sharesOf(view), lateComputing);
}

/** The estimated cost of the profiler decides the answer, or is as large as whyslow ever subtracts: both divisions are shown. */
export const isDisputed = (view: RankView): boolean => correctionDecides(view, 0) || isAtFloor(view);

/** The corrected step is never below this part of the recorded one (replay/recording-cost.ts). */
const isAtFloor = (view: RankView) =>
  view.source === 'trace' &&
  !isMeasured(view.step) &&
  view.step.unprofiled <= 1.01 * LEAST_LEFT * view.step.recorded;

/** Share of the step in which only copies run that may go either way. They count as work of the device. */
function untoldCopies(view: RankView, shares: Shares): number {
  if (view.source === 'log') return 0;
  const inDevice = view.facts.kernels.filter(
    (k) => k.source === 'runtime' && k.copy?.direction !== 'HtoD' && k.copy?.direction !== 'DtoH',
  );
  const total = (kernels: readonly { readonly total: number }[]) =>
    kernels.reduce((sum, k) => sum + k.total, 0);
  const untold = total(inDevice.filter((k) => k.copy?.direction === 'unknown'));
  if (untold === 0) return 0;
  const exposed = Math.max(0, view.time.copy - view.copies.toDevice - view.copies.toHost);
  const step = sumOfClasses(view.time) || 1;
  return Math.min(shares.gpu, (exposed / step) * (untold / total(inDevice)));
}

/** The answer at the lowest or highest plausible cost of the profiler, if it differs. Null: it does not. */
function answerAtOtherCost({ view, best, lateComputing }: Judgment): VerdictClass | null {
  if (view.source === 'log' || !view.baseline || isMeasured(view.step) || emptyingQueue(view)) return null;
  const { unprofiled, unprofiledLow, unprofiledHigh, input } = view.baseline;
  const answerAt = (step: number, inputTime: number) => {
    const more = inputTime - input.unprofiled;
    const time = {
      ...view.time,
      idle_data: ns(Math.max(0, view.time.idle_data + more)),
      idle_host: ns(Math.max(0, view.time.idle_host + step - unprofiled - more)),
    };
    return bestClass(sharesOf(view, time), lateComputing);
  };
  const answers = [answerAt(unprofiledLow, input.low), answerAt(unprofiledHigh, input.high)];
  return answers.find((answer) => answer !== best) ?? null;
}
