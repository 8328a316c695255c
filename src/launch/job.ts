import { readdir, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { readJson } from './small-file.js';

/** The fields of OUT/ranks/rank_<r>.json that are used here. */
export interface RankStatus {
  readonly rank: number;
  readonly run: string;
  readonly host: string;
  readonly pid: number;
  /** The file says that the rank has ended. */
  readonly ended: boolean;
  readonly writtenMs: number;
  /** When its first clock anchor was taken, ms since 1970. NaN: not known. */
  readonly startedMs: number;
}

/** Ranks that have written their file to a capture directory. Incomplete files are left out. */
export async function readRanks(out: string): Promise<readonly RankStatus[]> {
  const folder = join(out, 'ranks');
  const names = await readdir(folder).catch(() => []);
  const read = await Promise.all(
    names
      .filter((name) => /^rank_\d+(?:\.\w+)?\.json$/.test(name))
      .map((name) => readRank(join(folder, name))),
  );
  // A rank that has trained twice has two files. The newer one counts.
  const oldestFirst = read.filter((m) => m !== null).sort((a, b) => a.writtenMs - b.writtenMs);
  const newest = new Map(oldestFirst.map((m) => [m.rank, m]));
  return [...newest.values()].sort((a, b) => a.rank - b.rank);
}

async function readRank(path: string): Promise<RankStatus | null> {
  const [object, stats] = await Promise.all([readJson(path), stat(path).catch(() => null)]);
  if (object === null || stats === null || typeof object.rank !== 'number') return null;
  const { rank, run, host, pid, anchors } = object;
  return {
    rank,
    run: typeof run === 'string' ? run : '',
    host: typeof host === 'string' ? host : '',
    pid: typeof pid === 'number' ? pid : Number.NaN,
    ended: Array.isArray(anchors) && anchors.some((a: { at?: unknown }) => a?.at === 'end'),
    writtenMs: stats.mtimeMs,
    startedMs: Number((Array.isArray(anchors) ? anchors[0] : null)?.wall_ns ?? Number.NaN) / 1e6,
  };
}

/** Ranks rewrite their file every 20 s at most. */
const RECENT_MS = 60_000;

/**
 * Whether any rank may still be running. Processes of other machines cannot be checked. Those of this one can, but a
 * container may have our host's name and process ids of its own: a rank that wrote recently counts as alive.
 */
export function mayBeAlive(ranks: readonly RankStatus[], now: number): boolean {
  return ranks.some(
    (m) => !m.ended && (m.host !== hostname() || processExists(m.pid) || now - m.writtenMs < RECENT_MS),
  );
}

export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
