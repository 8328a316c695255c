import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
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
