import { randomBytes } from 'node:crypto';
import { readdir, rename, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownModes } from '../base/make-folders.js';
import type { ChildEnd } from './child.js';
import { readJson } from './small-file.js';

/** The place of one `whyslow run` in a job of several nodes. */
export interface Place {
  /** This `whyslow run`, as file names spell it. */
  readonly launch: string;
  /** Where the nodes that share the folder leave notes. */
  readonly folder: string;
  /** Ranks on this node, measured or not. */
  readonly ranks: readonly number[];
  /** Measured ranks on other nodes. */
  readonly elsewhere: readonly number[];
  /** Rank 0 is on this node. */
  readonly isFirst: boolean;
  /** Address of the node with rank 0, as the job itself uses it. */
  readonly firstNode: string | null;
  /** Ranks whose files are in this folder. On a shared disk: those of all nodes. */
  readonly visible: ReadonlySet<number>;
}

const NODES = join('.whyslow', 'nodes');
/** More than any job has. Other users may have written these files. */
const MAX_RANKS = 100_000;
const PLACE_FILE = /^([A-Za-z0-9]{1,64})-(\d{1,6})\.json$/;

/** Null: a job of one node, or one whose ranks could not agree on a name. If this launch started several jobs, the newest counts. */
export async function placeOf(out: string, launch: string): Promise<Place | null> {
  let newest: { readonly at: number; readonly job: string } | null = null;
  for (const name of await readdir(join(out, NODES)).catch(() => [])) {
    const own = (await placeFiles(join(out, NODES, name))).find((file) => file.launch === launch);
    const at = own && (await stat(join(out, NODES, name, own.name)).catch(() => null))?.mtimeMs;
    if (at !== undefined && at > (newest?.at ?? 0)) newest = { at, job: name };
  }
  return newest && placeIn(join(out, NODES, newest.job), launch);
}

async function placeIn(folder: string, launch: string): Promise<Place | null> {
  const files = await placeFiles(folder);
  const own = files.filter((file) => file.launch === launch);
  const stated = (await Promise.all(own.map((file) => readJson(join(folder, file.name))))).filter(
    (s) => s !== null,
  );
  const { world_size, first_node, measured } = stated[0] ?? {};
  if (!isCount(world_size)) return null;
  const here = new Set(stated.flatMap(ranksOfNode));
  const asked = Array.isArray(measured) ? measured.filter(isRank) : [...Array(world_size).keys()];
  return {
    launch,
    folder,
    ranks: [...here].sort((a, b) => a - b),
    elsewhere: asked.filter((rank) => rank < world_size && !here.has(rank)),
    isFirst: here.has(0),
    firstNode: typeof first_node === 'string' ? first_node : null,
    visible: new Set(files.map((file) => file.rank)),
  };
}

async function placeFiles(folder: string) {
  const names = await readdir(folder).catch(() => []);
  return names.flatMap((name) => {
    const match = PLACE_FILE.exec(name);
    return match ? [{ name, launch: match[1]!, rank: Number(match[2]) }] : [];
  });
}

/** The ranks that the launcher started on the same node. Launchers number them in order. */
function ranksOfNode(place: Readonly<Record<string, unknown>>): readonly number[] {
  const { rank, local_rank, local_world_size } = place;
  if (!isRank(rank)) return [];
  if (!isRank(local_rank) || !isCount(local_world_size) || local_rank > rank) return [rank];
  return Array.from({ length: local_world_size }, (_, i) => rank - local_rank + i);
}

const isRank = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < MAX_RANKS;
const isCount = (value: unknown): value is number => isRank(value) && value > 0;

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
