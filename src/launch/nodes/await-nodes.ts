import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeState } from './node-state.js';
import { readNotes } from './notes.js';
import type { Place } from './place.js';
import { type Receiver, receiveFacts } from './receive.js';

export interface Waiting {
  /** Nodes that have told something. */
  readonly nodes: readonly NodeState[];
  /** Measured ranks of which there is nothing yet. */
  readonly missing: readonly number[];
}

const POLL_MS = 250;
/** A node that says it is making facts gets this many times as long: its traces may be large. */
const PATIENCE = 10;

/** Waits until all other nodes have handed over what they measured, or `limitMs` have passed. */
export async function awaitNodes(
  place: Place,
  out: string,
  limitMs: number,
  onProgress: (waiting: Waiting, ms: number) => void,
): Promise<Waiting> {
  const started = Date.now();
  const sent = new Map<number, NodeState>();
  // Only if there are ranks that do not write into this folder.
  const receiver = place.elsewhere.every((rank) => place.visible.has(rank))
    ? null
    : await receiveFacts(place, out, (state) => sent.set(state.ranks[0]!, state));
  try {
    return await poll(place, sent, started, limitMs, onProgress);
  } finally {
    (receiver satisfies Receiver | null)?.close();
  }
}

async function poll(
  place: Place,
  sent: ReadonlyMap<number, NodeState>,
  started: number,
  limitMs: number,
  onProgress: (waiting: Waiting, ms: number) => void,
): Promise<Waiting> {
  let notes: ReadonlyMap<string, NodeState> = new Map();
  for (;;) {
    notes = await readNotes(place, notes);
    const nodes = [...notes.values(), ...sent.values()];
    const done = new Set(nodes.filter((n) => n.isDone).flatMap((n) => n.ranks));
    const waiting = { nodes, missing: place.elsewhere.filter((rank) => !done.has(rank)) };
    const ms = Date.now() - started;
    const heard = new Set(nodes.flatMap((n) => n.ranks));
    const limit = waiting.missing.every((rank) => heard.has(rank)) ? PATIENCE * limitMs : limitMs;
    if (waiting.missing.length === 0 || ms >= limit) return waiting;
    onProgress(waiting, ms);
    await sleep(POLL_MS);
  }
}
