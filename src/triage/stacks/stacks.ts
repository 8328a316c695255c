import { groupBy } from '../../base/group-by.js';
import type { StackFrame, StackSample } from '../../machine/stacks.js';
import type { Recording } from '../../model/recording.js';
import type { ProcessActivity } from '../../telemetry/processes/process-activity.js';
import { nameOfProcess, rankOfProcess, rolesOf } from '../../telemetry/processes/roles.js';
import type { Activity } from '../activity/activity.js';

/** Ids of the processes that train. */
export const trainersIn = (recording: Recording): readonly number[] =>
  [...rolesOf(recording)].flatMap(([pid, role]) => (role === 'trainer' ? [pid] : []));

/** Where the main thread of a training process was, over several samples. */
export interface ProcessStacks {
  readonly pid: number;
  /** `rank 2 (process 4711)`. */
  readonly name: string;
  readonly rank: number | null;
  readonly samples: number;
  /** In the same line in every sample. */
  readonly isConstant: boolean;
  /** And without running: it hangs. */
  readonly isStuck: boolean;
  /** A signal has stopped the process. */
  readonly isStopped: boolean;
  /** What it waits in, most often: `all_reduce`. Null: no collective. */
  readonly collective: string | null;
  /** The rank that its send or receive waits for. Null: unknown. */
  readonly peer: number | null;
  /** Share of samples in a collective, in torch's DataLoader, in torch's compiler, elsewhere in torch. */
  readonly inCollective: number;
  readonly inLoader: number;
  readonly inCompiler: number;
  readonly inTorch: number;
  /** The line of the user's code, or the innermost one: `forward (model.py:31)`. */
  readonly place: string;
  /** Share of samples in that place. */
  readonly placeShare: number;
}

/** Fewer samples of a process say nothing about a hang. */
const LEAST_SAMPLES = 3;
/** Switches per second of a main thread that only waits. A poll that times out every 5 s is still a wait. */
const STANDS_STILL = 2;

const COLLECTIVE =
  /^(?:\w+\.)?(all_reduce|all_gather\w*|_?all_gather_base|reduce_scatter\w*|_?reduce_scatter_base|broadcast\w*|barrier|monitored_barrier|all_to_all\w*|reduce|gather\w*|scatter\w*|send\w*|recv\w*|batch_isend_irecv|_sync_buffers|synchronize)$/;
const DISTRIBUTED = /torch\/(?:distributed|nn\/parallel)\//;
const LOADER = /torch\/utils\/data\//;
/** Files that are only entered to compile. Others of the compiler are in every call of a compiled model. */
const COMPILER =
  /torch\/_dynamo\/(?:convert_frame|symbolic_convert)\.py|torch\/_inductor\/(?:graph|scheduler|async_compile)\.py/;
const TORCH = /\/torch\//;
/** Capture's own hooks too: run from a checkout they are not in site-packages. */
const LIBRARY =
  /site-packages\/|\/whyslow_(?:capture|dropins|training|trials)\/|dist-packages\/|\/lib\/python[\d.]+\/|^<frozen/;

export function processStacks(samples: readonly StackSample[], activity: Activity): readonly ProcessStacks[] {
  const byPid = groupBy(samples, (sample) => sample.pid);
  return activity.trainers.flatMap((trainer) => {
    const stacks = (byPid.get(trainer.facts.pid) ?? []).flatMap((s) => s.threads[0] ?? []);
    const frames = stacks.map((s) => s.frames);
    return frames.length === 0 ? [] : [oneProcess(trainer, frames, activity)];
  });
}

function oneProcess(
  trainer: ProcessActivity,
  stacks: readonly (readonly StackFrame[])[],
  activity: Activity,
): ProcessStacks {
  const share = (test: (frames: readonly StackFrame[]) => boolean) =>
    stacks.filter(test).length / stacks.length;
  const collectives = stacks.map(collectiveOf);
  const places = groupBy(stacks, placeOf);
  const [place, at] = [...places].sort((a, b) => b[1].length - a[1].length)[0]!;
  const isConstant = stacks.length >= LEAST_SAMPLES && new Set(stacks.map(asText)).size === 1;
  const inFile = (files: RegExp) => share((frames) => frames.some((f) => files.test(f.file)));
  return {
    pid: trainer.facts.pid,
    name: nameOfProcess(trainer.facts),
    rank: rankOfProcess(trainer.facts),
    samples: stacks.length,
    isConstant,
    isStuck: isConstant && standsStill(trainer, activity),
    isStopped: wasStopped(trainer, activity),
    collective: collectives.find((name) => name !== null) ?? null,
    peer: stacks.at(-1)!.find((f) => f.peer !== undefined)?.peer ?? null,
    inCollective: collectives.filter((name) => name !== null).length / stacks.length,
    inLoader: inFile(LOADER),
    inCompiler: inFile(COMPILER),
    inTorch: share(
      (frames) => frames.some((f) => TORCH.test(f.file)) && !frames.some((f) => LOADER.test(f.file)),
    ),
    place,
    placeShare: at.length / stacks.length,
  };
}

/** A loop that comes back to the same line is not stuck: its thread sleeps and wakes. */
function standsStill({ facts, mainCpu }: ProcessActivity, { recording, seconds }: Activity): boolean {
  const switches = recording.samples.flatMap(
    (s) => s.processes.find((p) => p.pid === facts.pid)?.voluntarySwitches ?? [],
  );
  const rate = switches.length < 2 ? 0 : (switches.at(-1)! - switches[0]!) / seconds;
  return rate <= STANDS_STILL && mainCpu < 0.05;
}

const wasStopped = ({ facts }: ProcessActivity, { recording: { samples } }: Activity): boolean =>
  /^[Tt]/.test(samples.at(-1)?.processes.find((p) => p.pid === facts.pid)?.threads[0]?.state ?? '');

const asText = (frames: readonly StackFrame[]) =>
  frames.map((f) => `${f.name}:${f.file}:${f.line}`).join('\n');

/** The outermost function of torch.distributed that the thread is in. */
function collectiveOf(frames: readonly StackFrame[]): string | null {
  const names = frames.flatMap((f) => (DISTRIBUTED.test(f.file) ? (COLLECTIVE.exec(f.name)?.[1] ?? []) : []));
  return names.at(-1) ?? null;
}

/** The innermost line that is not a library's: what the user can look at. */
function placeOf(frames: readonly StackFrame[]): string {
  const frame = frames.find((f) => !LIBRARY.test(f.file)) ?? frames[0];
  if (frame === undefined) return 'no Python code';
  const file = frame.file.split('/').slice(-2).join('/');
  return `${frame.name} (${file}:${frame.line})`;
}
