import { hostname } from 'node:os';
import type { ChildEnd } from '../child.js';
import type { Place } from './place.js';

/** What a node tells the first one. */
export interface NodeState {
  readonly host: string;
  readonly ranks: readonly number[];
  /** Its facts are there. Otherwise it is still making them. */
  readonly isDone: boolean;
  /** How its command ended: `exit code 1`, `SIGKILL`. Null: well. */
  readonly failure: string | null;
}

export const stateOf = ({ ranks }: Place, ended: ChildEnd, isDone: boolean): NodeState => ({
  host: hostname(),
  ranks,
  isDone,
  failure: ended.signal ?? (ended.code === 0 ? null : `exit code ${ended.code}`),
});

/** Null if it is none: it may come from anybody. */
export function toNodeState(value: Readonly<Record<string, unknown>> | null): NodeState | null {
  const { host, ranks, isDone, failure } = value ?? {};
  if (typeof host !== 'string' || !Array.isArray(ranks) || ranks.length === 0) return null;
  if (!ranks.every((rank) => Number.isSafeInteger(rank) && rank >= 0)) return null;
  const text = typeof failure === 'string' ? failure.slice(0, 100) : null;
  return { host: host.slice(0, 255), ranks, isDone: isDone === true, failure: text };
}
