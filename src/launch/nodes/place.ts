import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson } from '../read-json.js';

/** The place of one `whyslow run` in a job of several nodes. */
export interface Place {
  /** This `whyslow run`, as the names of files have it. */
  readonly launch: string;
  /** Where the nodes that share the folder leave notes. */
  readonly folder: string;
  /** A secret that only ranks of this job know, agreed through the job's own store. */
  readonly job: string;
  /** Ranks on this node, measured or not. */
  readonly ranks: readonly number[];
  /** Measured ranks on other nodes. */
  readonly elsewhere: readonly number[];
  /** Rank 0 is here. */
  readonly isFirst: boolean;
  /** Address of the node with rank 0, as the job itself uses it. */
  readonly firstNode: string | null;
  /** Ranks whose files are in this folder. On a shared disk: those of all nodes. */
  readonly visible: ReadonlySet<number>;
}

const NODES = join('.whyslow', 'nodes');
/** More than any job has. These files may come from others. */
const MAX_RANKS = 100_000;
const PLACE_FILE = /^([A-Za-z0-9]{1,64})-(\d{1,6})\.json$/;

/** Null: a job of one node, or one whose ranks could not agree on a token. Of several jobs of this launch the newest counts. */
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
  const { job, world_size, first_node, measured } = stated[0] ?? {};
  if (typeof job !== 'string' || folderOf(job) !== folder.slice(-FOLDER_LENGTH) || !isCount(world_size))
    return null;
  const here = new Set(stated.flatMap(ranksBeside));
  const asked = Array.isArray(measured) ? measured.filter(isRank) : [...Array(world_size).keys()];
  return {
    launch,
    folder,
    job,
    ranks: [...here].sort((a, b) => a - b),
    elsewhere: asked.filter((rank) => rank < world_size && !here.has(rank)),
    isFirst: here.has(0),
    firstNode: typeof first_node === 'string' ? first_node : null,
    visible: new Set(files.map((file) => file.rank)),
  };
}

/** As layout.py has it. */
const FOLDER_LENGTH = 16;
const folderOf = (job: string) => createHash('sha256').update(job).digest('hex').slice(0, FOLDER_LENGTH);

async function placeFiles(folder: string) {
  const names = await readdir(folder).catch(() => []);
  return names.flatMap((name) => {
    const match = PLACE_FILE.exec(name);
    return match ? [{ name, launch: match[1]!, rank: Number(match[2]) }] : [];
  });
}

/** The ranks that the launcher started on the node of this one. Launchers number them in order. */
function ranksBeside(place: Readonly<Record<string, unknown>>): readonly number[] {
  const { rank, local_rank, local_world_size } = place;
  if (!isRank(rank)) return [];
  if (!isRank(local_rank) || !isCount(local_world_size) || local_rank > rank) return [rank];
  return Array.from({ length: local_world_size }, (_, i) => rank - local_rank + i);
}

const isRank = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < MAX_RANKS;
const isCount = (value: unknown): value is number => isRank(value) && value > 0;
