import { type DeviceMemory, MEMORY_ACTIONS, type MemoryStack } from '../model/memory-snapshot.js';
import type { StackFrame } from '../model/stack-profile.js';

/** What the job did when it allocated. */
export type Phase = 'set-up' | 'forward' | 'backward' | 'optimizer';

/** Events of one phase that follow each other. */
export interface PhaseRun {
  readonly phase: Phase;
  /** Index of the first event. It goes on until the next run. */
  readonly first: number;
}

const OPTIMIZER =
  /(?:^|[\\/])torch[\\/](?:optim|amp[\\/]grad_scaler|cuda[\\/]amp[\\/]grad_scaler|nn[\\/]utils[\\/]clip_grad)/;
const BACKWARD = /(?:^|[\\/])torch[\\/]autograd[\\/](?:__init__|function|graph)\.py$/;
const MODULE = /(?:^|[\\/])torch[\\/]nn[\\/]modules[\\/]module\.py$/;
/** Functions that make or move a whole model. */
const SET_UP =
  /^(?:__init__|_apply|to|cuda|load_state_dict|from_pretrained|_load_from_state_dict|reset_parameters|deepcopy)$/;

const some = (frames: readonly StackFrame[], is: (frame: StackFrame) => boolean) => frames.some(is);

/** `optimizerFiles`: files of optimizers, which make their state in `__init__` or in the first step. */
export function phaseOf({ frames, inBackward }: MemoryStack, optimizerFiles: ReadonlySet<string>): Phase {
  if (some(frames, (f) => OPTIMIZER.test(f.file))) return 'optimizer';
  if (inBackward) return 'backward';
  if (frames.length === 0) return 'backward';
  if (some(frames, (f) => f.function === 'backward' || BACKWARD.test(f.file))) return 'backward';
  if (frames[0] && optimizerFiles.has(frames[0].file)) return 'optimizer';
  if (some(frames, (f) => f.function === '_call_impl' && MODULE.test(f.file))) return 'forward';
  return some(frames, (f) => SET_UP.test(f.function)) ? 'set-up' : 'forward';
}

/** The job's own optimizers: what `torch/optim` calls. */
export function optimizerFiles(stacks: readonly MemoryStack[]): ReadonlySet<string> {
  return new Set(
    stacks.flatMap(({ frames }) => {
      const at = frames.findIndex((f) => /(?:^|[\\/])torch[\\/]optim[\\/]optimizer\.py$/.test(f.file));
      const called = frames[at - 1];
      return called?.isOwn && called.function === 'step' ? [called.file] : [];
    }),
  );
}

/** Only allocations tell: frees come at any time. */
export function phaseRuns({ action, stack }: DeviceMemory, phases: readonly Phase[]): readonly PhaseRun[] {
  const alloc = MEMORY_ACTIONS.indexOf('alloc');
  const runs: PhaseRun[] = [];
  for (let i = 0; i < action.length; i++) {
    if (action[i] !== alloc || stack[i]! < 0) continue;
    const phase = phases[stack[i]!]!;
    if (runs.at(-1)?.phase !== phase) runs.push({ phase, first: i });
  }
  return runs;
}

/** Events at which a step begins: the first forward pass after a backward pass or the optimizer. */
export function stepStarts(runs: readonly PhaseRun[]): readonly number[] {
  const starts: number[] = [];
  const endsStep = runs.some((r) => r.phase === 'optimizer') ? 'optimizer' : 'backward';
  let isDone = false;
  for (const { phase, first } of runs) {
    if (phase === endsStep) isDone = true;
    if (phase === 'forward' && (isDone || starts.length === 0)) {
      starts.push(first);
      isDone = false;
    }
  }
  return starts;
}
