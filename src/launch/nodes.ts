import { randomBytes } from 'node:crypto';
import { readdir, rename, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownModes } from '../base/own-modes.js';
import type { ChildEnd } from './child.js';
import type { Place } from './place.js';
import { readJson } from './small-file.js';

/** What a node reports to the first one through the shared folder. */
export interface NodeState {
  readonly host: string;
  readonly ranks: readonly number[];
  /** Its facts are there. Otherwise it is still making them. */
  readonly isDone: boolean;
  /** How its command failed: `exit code 1`, `SIGKILL`. Null: it did not. */
  readonly failure: string | null;
}

const NOTE = /^[A-Za-z0-9]{1,64}\.note$/;

/** Reports to the first node how the command ended here, and whether the facts are there. */
export async function leaveNote(place: Place, ended: ChildEnd, isDone: boolean): Promise<void> {
  const { folder, launch, ranks } = place;
  const failure = ended.signal ?? (ended.code === 0 ? null : `exit code ${ended.code}`);
  const state: NodeState = { host: hostname(), ranks, isDone, failure };
  const partial = join(folder, `.${launch}.partial-${randomBytes(6).toString('hex')}`);
  await writeFile(partial, JSON.stringify(state), { flag: 'wx', mode: ownModes(process.env).file });
  await rename(partial, join(folder, `${launch}.note`));
}

export interface Waiting {
  /** Nodes that have reported. */
  readonly nodes: readonly NodeState[];
  /** Ranks that write into this folder and whose node is not done yet. */
  readonly missing: readonly number[];
}

const POLL_MS = 250;
/** A node that is making facts gets this many times as long: its traces may be large. */
const PATIENCE = 10;

/** Waits until all nodes that share the folder are done, or `limitMs` have passed. */
export async function awaitNodes(
  place: Place,
  limitMs: number,
  onProgress: (waiting: Waiting, ms: number) => void,
): Promise<Waiting> {
  const started = Date.now();
  const expected = place.elsewhere.filter((rank) => place.visible.has(rank));
  let notes: ReadonlyMap<string, NodeState> = new Map();
  for (;;) {
    notes = await readNotes(place, notes);
    const nodes = [...notes.values()];
    const done = new Set(nodes.filter((n) => n.isDone).flatMap((n) => n.ranks));
    const waiting = { nodes, missing: expected.filter((rank) => !done.has(rank)) };
    const ms = Date.now() - started;
    const heard = new Set(nodes.flatMap((n) => n.ranks));
    const limit = waiting.missing.every((rank) => heard.has(rank)) ? PATIENCE * limitMs : limitMs;
    if (waiting.missing.length === 0 || ms >= limit) return waiting;
    onProgress(waiting, ms);
    await sleep(POLL_MS);
  }
}

/** What the other nodes have reported so far. `known` are notes that need not be read again. */
async function readNotes(
  { folder, launch }: Place,
  known: ReadonlyMap<string, NodeState>,
): Promise<ReadonlyMap<string, NodeState>> {
  const names = (await readdir(folder).catch(() => [])).filter((n) => NOTE.test(n) && n !== `${launch}.note`);
  const read = await Promise.all(
    names.map(async (name) => {
      const before = known.get(name);
      return [name, before?.isDone ? before : toNodeState(await readJson(join(folder, name)))] as const;
    }),
  );
  return new Map(read.flatMap(([name, state]) => (state ? [[name, state] as const] : [])));
}

/** Null if it is not one: anybody may have written the file. */
function toNodeState(value: Readonly<Record<string, unknown>> | null): NodeState | null {
  const { host, ranks, isDone, failure } = value ?? {};
  if (typeof host !== 'string' || !Array.isArray(ranks) || ranks.length === 0) return null;
  if (!ranks.every((rank) => Number.isSafeInteger(rank) && rank >= 0)) return null;
  const text = typeof failure === 'string' ? failure.slice(0, 100) : null;
  return { host: host.slice(0, 255), ranks, isDone: isDone === true, failure: text };
}

/** As layout.py names them. */
const TRACE = /(?:^|[\\/])rank-(\d{1,6})-[^\\/]*trace[^\\/]*\.(?:json|tar)\.gz$/;

/** Where a node puts the facts of its traces. `diagnose` skips this folder: the traces are there as well. */
export const factsFolder = (out: string) => join(out, '.whyslow', 'facts');

/** Traces of the given ranks in the folder of a run. */
export async function tracesOf(out: string, isWanted: (rank: number) => boolean): Promise<readonly string[]> {
  const names = await readdir(join(out, 'traces'), { recursive: true }).catch(() => []);
  return names
    .filter((name) => isWanted(Number(TRACE.exec(name)?.[1] ?? Number.NaN)))
    .map((name) => join(out, 'traces', name));
}

/** The facts that other nodes made of their traces, by trace. */
export async function factsOfTraces(
  out: string,
  isWanted: (rank: number) => boolean,
): Promise<ReadonlyMap<string, string>> {
  const pairs = await Promise.all(
    (await tracesOf(out, isWanted)).map(async (trace) => {
      const facts = join(factsFolder(out), `${trace.slice(out.length)}.facts`);
      const [made, of] = await Promise.all([stat(facts).catch(() => null), stat(trace).catch(() => null)]);
      // A later run may have replaced the trace.
      return made?.isFile() && of && made.mtimeMs >= of.mtimeMs ? ([[trace, facts]] as const) : [];
    }),
  );
  return new Map(pairs.flat());
}
