import { groupBy } from '../../base/group-by.js';
import { type Share, share } from '../../base/units.js';
import type { StackProfile, StackThread } from '../../model/stack-profile.js';
import { stateIn, stateOf, type ThreadState } from './stack-state.js';

/** What the main thread of one process does. */
export interface ProcessStacks {
  /** Null: neither the file name nor a manifest tells. */
  readonly rank: number | null;
  readonly pid: number | null;
  readonly kind: StackProfile['kind'];
  /** Most samples first. A dump has one. */
  readonly states: readonly (ThreadState & { readonly share: Share })[];
  readonly samples: number;
  /** Whether the main thread was on a core. Null: unknown. */
  readonly isActive: boolean | null;
  /** Whether its stack still changes between dumps of the process. Null: there is only one. */
  readonly hasMoved: boolean | null;
  /** What DataLoader workers run, if they were recorded too. */
  readonly workers: readonly ThreadState[];
}

export interface RankProfile {
  readonly rank: number | null;
  readonly profile: StackProfile;
}

/** The newest stack, how many dumps there are, and how many of the last ones show that stack. */
interface Seen {
  readonly key: string;
  readonly dumps: number;
  readonly same: number;
}
/** So many dumps with one stack, after others: it made progress, and stopped. */
const STANDS = 3;

/** One entry per process with a main thread. Later dumps of a process replace earlier ones. */
export function processStacks(profiles: readonly RankProfile[]): readonly ProcessStacks[] {
  const byProcess = new Map<string, ProcessStacks & Seen>();
  for (const [i, { rank, profile }] of profiles.entries()) {
    const main = profile.threads.find((t) => t.isMain && t.stacks.length > 0);
    if (!main && profile.state === 'runs') continue;
    const id = `${profile.kind} ${rank ?? ''} ${profile.pid ?? (rank === null ? `file ${i}` : '')}`;
    const key = JSON.stringify(main?.stacks[0]?.frames ?? profile.state);
    const before = byProcess.get(id);
    const dumps = (before?.dumps ?? 0) + 1;
    const same = before?.key === key ? before.same + 1 : 1;
    const hasMoved = dumps === 1 ? null : same < Math.min(dumps, STANDS);
    byProcess.set(id, { rank, key, dumps, same, ...described(profile, main), hasMoved });
  }
  return [...byProcess.values()].map(({ key: _key, dumps: _dumps, same: _same, ...seen }) => seen);
}

function described(profile: StackProfile, main: StackThread | undefined) {
  const stacks = main?.stacks ?? [{ frames: [], samples: 1 }];
  const samples = stacks.reduce((n, s) => n + s.samples, 0);
  const states = new Map<string, { readonly state: ThreadState; samples: number }>();
  for (const stack of stacks) {
    const state = stateIn(profile.state, stack.frames);
    const id = `${state.doing} ${state.at}`;
    const known = states.get(id) ?? { state, samples: 0 };
    known.samples += stack.samples;
    states.set(id, known);
  }
  const ordered = [...states.values()].sort((a, b) => b.samples - a.samples);
  return {
    pid: profile.pid,
    kind: profile.kind,
    isActive: main?.isActive ?? null,
    samples,
    states: ordered.map(({ state, samples: own }) => ({ ...state, share: share(own / samples) })),
    workers: profile.threads.filter(isWorker).map((t) => stateOf(t.stacks[0]!.frames)),
  };
}

const isWorker = (thread: StackThread) =>
  thread.stacks[0]?.frames.some((f) => f.function === '_worker_loop') ?? false;

/** A state counts from this part of the samples on: half of the time decides. */
export const MOSTLY = 0.5;

export const isMostly = ({ states: [top] }: ProcessStacks): boolean =>
  top !== undefined && top.share >= MOSTLY;

export interface SplitRanks {
  /** Not empty, nor the other. */
  readonly waiting: readonly ProcessStacks[];
  readonly elsewhere: readonly ProcessStacks[];
  /** They wait in a collective. Null: they only stand at the same line. */
  readonly collective: string | null;
}

/** Some wait for others and some are somewhere else: those hold the job up. Null: they are not divided, or it is unknown. */
export function splitRanks(stacks: readonly ProcessStacks[]): SplitRanks | null {
  const known = stacks.filter(isMostly);
  const [waiting, elsewhere] = partition(known, (s) => s.states[0]!.doing === 'collective');
  if (waiting.length > 0 && elsewhere.length > 0)
    return { waiting, elsewhere, collective: waiting[0]!.states[0]!.call };
  return splitAtLine(known);
}

/** Of so many processes most must stand at one line. */
const LEAST_PROCESSES = 3;
const MOST = 2 / 3;

/**
 * With NCCL the host does not wait in the collective but at the next read from the GPU. Ranks of a healthy job are at different
 * lines too, so this counts only if no stack moved between two dumps.
 */
function splitAtLine(stacks: readonly ProcessStacks[]): SplitRanks | null {
  if (stacks.length < LEAST_PROCESSES || stacks.some((s) => s.hasMoved !== false)) return null;
  const groups = [...groupBy(stacks, (s) => s.states[0]!.at)].sort((a, b) => b[1].length - a[1].length);
  const [line, waiting] = groups[0]!;
  if (line === null || groups.length < 2 || waiting.length < MOST * stacks.length) return null;
  return { waiting, elsewhere: stacks.filter((s) => s.states[0]!.at !== line), collective: null };
}

function partition<T>(all: readonly T[], test: (one: T) => boolean): [passing: T[], others: T[]] {
  return [all.filter(test), all.filter((one) => !test(one))];
}
