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
import { clipped } from '../common/text.js';

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
  'too-large': { message: 'The file is larger than 128 MiB.', consequence: 'It was not read.' },
  'broken-json': {
    message: 'The file is not complete JSON, or has far more values than a recording of stacks.',
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
export const MAX_DEPTH = 256;
const MAX_THREADS = 4096;
const MAX_STACKS = 16_384;
/** Characters of all stacks together. */
const MAX_STACK_TEXT = 32 << 20;
/** Longer ones are no names of processes and threads. */
const MAX_KEY = 400;

interface ThreadTotal {
  readonly name: string;
  isActive: boolean | null;
  readonly stacks: Map<string, { readonly frames: readonly StackFrame[]; samples: number }>;
}

/** Adds up the stacks of a process, thread by thread. */
export class StackBook {
  readonly #threads = new Map<string, ThreadTotal>();
  /** Names and files as they are kept, each once: most come again with every stack. */
  readonly #texts = new Map<string, string>();
  readonly #own = new Map<string, boolean>();
  #stacks = 0;
  #kept = 0;
  #command = '';
  rank: number | null = null;
  state: ProcessState = 'runs';

  constructor(
    readonly kind: StackProfile['kind'],
    public pid: number | null,
    command: string,
    readonly faults: PySpyFaults,
  ) {
    this.command = command;
  }

  get command(): string {
    return this.#command;
  }

  set command(text: string) {
    this.#command = clipped(text, MAX_TEXT);
  }

  frame(name: string, file: string, line: number): StackFrame {
    const path = this.#text(file, -MAX_TEXT);
    const isOwn = this.#own.get(path) ?? isOwnFile(path);
    if (this.#own.size < MAX_STACKS) this.#own.set(path, isOwn);
    return { function: this.#text(name, MAX_TEXT), file: path, line, isOwn };
  }

  /** No further stack is kept. */
  get isFull(): boolean {
    return this.#stacks >= MAX_STACKS || this.#kept >= MAX_STACK_TEXT;
  }

  #text(text: string, most: number): string {
    const part = most > 0 ? text.slice(0, most) : text.slice(most);
    const known = this.#texts.get(part);
    if (known !== undefined) return known;
    const copy = clipped(part, most);
    if (this.#texts.size < MAX_STACKS) this.#texts.set(copy, copy);
    return copy;
  }

  /** `label` tells threads apart; frames are innermost first. */
  add(
    label: string,
    name: string,
    isActive: boolean | null,
    frames: readonly StackFrame[],
    samples: number,
  ): void {
    const key = clipped(label, MAX_KEY);
    let thread = this.#threads.get(key);
    if (!thread) {
      if (this.#threads.size === MAX_THREADS) return this.faults.add('too-many-stacks', null);
      thread = { name: clipped(name, MAX_TEXT), isActive, stacks: new Map() };
      this.#threads.set(key, thread);
    }
    if (frames.length === 0) return;
    const kept = frames.slice(0, MAX_DEPTH);
    const id = kept.map((f) => `${f.function} ${f.file}:${f.line}`).join(';');
    const known = thread.stacks.get(id);
    if (known) known.samples += samples;
    else if (!this.isFull) {
      this.#stacks++;
      this.#kept += id.length;
      thread.stacks.set(id, { frames: kept, samples });
    } else this.faults.add('too-many-stacks', null);
  }

  finish(): StackProfile {
    const threads = [...this.#threads.values()].map(({ name, isActive, stacks }): StackThread => {
      const all = [...stacks.values()].sort((a, b) => b.samples - a.samples);
      return { name, isActive, isMain: isMain(name, all), stacks: all };
    });
    const { kind, pid, rank, state } = this;
    return { kind, pid, rank, state, command: this.command, threads };
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
