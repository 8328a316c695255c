import { namedRanks } from '../../base/rank-ranges.js';
import type { ProcessStacks, SplitRanks } from '../../diagnosis/hang/process-stacks.js';
import type { Doing, ThreadState } from '../../diagnosis/hang/stack-state.js';
import type { Bottleneck } from '../../facts/causes.js';

const WORDS: Readonly<Record<Doing, (call: string) => string>> = {
  collective: (call) => `waits for other ranks in ${call}`,
  'input-wait': () => 'waits for a DataLoader worker',
  'input-work': () => 'makes a batch on the training thread',
  gpu: () => 'waits for the GPU',
  lock: (call) => `waits in ${call} for a lock, a thread or another process`,
  receive: (call) => `waits in ${call} for data from a socket or pipe`,
  stopped: () => 'is stopped by a signal',
  silent: () =>
    'did not answer: it is stopped, cannot be reached, or an extension holds its Python interpreter',
  gone: () => 'has ended',
  other: (call) => `is in ${call}`,
};

/** `waits for other ranks in all_reduce (train.py:46 in reduce_gradients)`. */
export function stateInWords({ doing, call, at }: ThreadState): string {
  if (at === null) return WORDS[doing](call);
  return doing === 'other' ? `is at ${at}` : `${WORDS[doing](call)} (${at})`;
}

export const processName = ({ rank, pid }: ProcessStacks): string =>
  rank !== null ? namedRanks([rank]) : pid !== null ? `process ${pid}` : 'the process';

const MOST_NAMED = 3;

/** `rank 2 is at data.py:23 in augment while ranks 0–1 wait for it in all_reduce`. */
export function elsewhereInWords({ waiting, elsewhere, collective }: SplitRanks): string {
  const [late] = elsewhere;
  const ranks = waiting.flatMap((s) => s.rank ?? []);
  const isOne = waiting.length === 1;
  const unnamed = isOne ? processName(waiting[0]!) : `${waiting.length} others`;
  const others = ranks.length === waiting.length ? namedRanks(ranks) : unnamed;
  const wait =
    collective === null
      ? `${isOne ? 'stays' : 'stay'} at ${waiting[0]!.states[0]!.at}`
      : `${isOne ? 'waits' : 'wait'} for it in ${collective}`;
  const rest = elsewhere
    .slice(1, MOST_NAMED)
    .map((s) => `, and ${processName(s)} ${stateInWords(s.states[0]!)}`);
  return `${processName(late!)} ${stateInWords(late!.states[0]!)} while ${others} ${wait}${rest.join('')}`;
}

/** What a thread in this state holds the step up with. Null: a stack does not show it. */
export const BOTTLENECK_OF: Readonly<Record<Doing, Bottleneck | null>> = {
  collective: 'comms',
  'input-wait': 'data',
  'input-work': 'data',
  gpu: null,
  lock: 'host',
  receive: 'host',
  stopped: 'host',
  silent: 'host',
  gone: 'host',
  other: null,
};
