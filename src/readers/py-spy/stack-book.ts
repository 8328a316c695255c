import type { ProblemText } from '../../base/problem.js';
import type {
  ProcessState,
  SampledStack,
  StackFrame,
  StackProfile,
  StackThread,
} from '../../model/stack-profile.js';
import { FaultCounter } from '../common/fault-counter.js';
import { MAX_TEXT } from '../common/fields.js';
import { isOwnFile } from '../common/own-code.js';
import type { ReadModel } from '../common/reader.js';

const FAULTS = {
  'odd-line': {
    message: 'A line is not what py-spy writes.',
    consequence: 'The line is left out.',
  },
  'cut-line': { message: 'The last line is incomplete.', consequence: 'It is left out.' },
  'cut-picture': {
    message: 'The flame graph is incomplete.',
    consequence: 'What comes before the cut was read; stacks may end too early.',
  },
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'too-many-stacks': {
    message: 'There are more threads or different stacks than are kept.',
    consequence: 'Further ones are left out.',
  },
  'too-large': { message: 'The file is larger than 256 MiB.', consequence: 'It was not read.' },
  'broken-json': {
    message: 'The file is not complete JSON; it may be cut short.',
    consequence: 'Nothing in it is used.',
  },
  'wrong-type': {
    message: 'A stack or a frame has a value of the wrong type.',
    consequence: 'It is left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type PySpyFaults = FaultCounter<keyof typeof FAULTS>;
export const newPySpyFaults = (): PySpyFaults => new FaultCounter(FAULTS, 'line');

export interface StacksRead extends ReadModel {
  readonly profiles: readonly StackProfile[];
}

/** Deeper stacks keep their innermost frames. */
const MAX_DEPTH = 256;
const MAX_THREADS = 4096;
const MAX_STACKS = 16_384;

interface ThreadTotal {
  readonly name: string;
  isActive: boolean | null;
  readonly stacks: Map<string, { readonly frames: readonly StackFrame[]; samples: number }>;
}

/** Adds up the stacks of a process, thread by thread. */
export class StackBook {
  readonly #threads = new Map<string, ThreadTotal>();
  readonly #files = new Map<string, boolean>();
  #stacks = 0;
  rank: number | null = null;
  state: ProcessState = 'runs';

  constructor(
    readonly kind: StackProfile['kind'],
    public pid: number | null,
    public command: string,
    readonly faults: PySpyFaults,
  ) {}

  frame(name: string, file: string, line: number): StackFrame {
    const known = this.#files.get(file) ?? isOwnFile(file);
    if (this.#files.size < MAX_STACKS) this.#files.set(file, known);
    return { function: name.slice(0, MAX_TEXT), file: file.slice(-MAX_TEXT), line, isOwn: known };
  }

  /** `key` tells threads apart; frames are innermost first. */
  add(
    key: string,
    name: string,
    isActive: boolean | null,
    frames: readonly StackFrame[],
    samples: number,
  ): void {
    let thread = this.#threads.get(key);
    if (!thread) {
      if (this.#threads.size === MAX_THREADS) return this.faults.add('too-many-stacks', null);
      thread = { name: name.slice(0, MAX_TEXT), isActive, stacks: new Map() };
      this.#threads.set(key, thread);
    }
    if (frames.length === 0) return;
    const kept = frames.slice(0, MAX_DEPTH);
    const id = kept.map((f) => `${f.function} ${f.file}:${f.line}`).join(';');
    const known = thread.stacks.get(id);
    if (known) known.samples += samples;
    else if (this.#stacks++ < MAX_STACKS) thread.stacks.set(id, { frames: kept, samples });
    else this.faults.add('too-many-stacks', null);
  }

  finish(): StackProfile {
    const threads = [...this.#threads.values()].map(({ name, isActive, stacks }): StackThread => {
      const all = [...stacks.values()].sort((a, b) => b.samples - a.samples);
      return { name, isActive, isMain: isMain(name, all), stacks: all };
    });
    const { kind, pid, rank, state } = this;
    return { kind, pid, rank, state, command: this.command.slice(0, MAX_TEXT), threads };
  }
}

/** DataLoader workers are forked from the main thread and keep its frames. */
const inWorker = ({ function: name, file }: StackFrame) =>
  name === '_worker_loop' && /_utils[\\/]worker\.py$/.test(file);

function isMain(name: string, stacks: readonly SampledStack[]): boolean {
  const frames = stacks[0]?.frames ?? [];
  if (frames.some(inWorker)) return false;
  return name === '' ? frames.some((f) => f.function === '<module>') : /^MainThread$/.test(name);
}
