import { readdir, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { readSmallFile } from './small-file.js';

/** What a rank says of itself in OUT/ranks/rank_<r>.json, as far as it is used here. */
export interface RankManifest {
  readonly rank: number;
  readonly run: string;
  readonly host: string;
  readonly pid: number;
  /** It has said that it ended. */
  readonly ended: boolean;
  readonly writtenMs: number;
}

/** Ranks that have shown up in a capture directory; files that are not whole count as not there. */
export async function readRanks(out: string): Promise<readonly RankManifest[]> {
  const folder = join(out, 'ranks');
  const names = await readdir(folder).catch(() => []);
  const read = await Promise.all(
    names.filter((name) => /^rank_\d+\.json$/.test(name)).map((name) => readRank(join(folder, name))),
  );
  return read.filter((m) => m !== null).sort((a, b) => a.rank - b.rank);
}

async function readRank(path: string): Promise<RankManifest | null> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readSmallFile(path), stat(path)]);
    if (text === null) return null;
    const { rank, run, host, pid, anchors } = JSON.parse(text) as Record<string, unknown>;
    if (typeof rank !== 'number') return null;
    return {
      rank,
      run: String(run),
      host: String(host),
      pid: Number(pid),
      ended: Array.isArray(anchors) && anchors.some((a: { at?: unknown }) => a?.at === 'end'),
      writtenMs: mtimeMs,
    };
  } catch {
    return null;
  }
}

/** Ranks write this file every 20 s or less often. */
const RECENT_MS = 60_000;

/**
 * Whether anybody may be there to answer. Processes of other machines cannot be looked at. Those of this one can; but a
 * container may have our host's name and its own numbers: one that wrote a moment ago is believed more than its number.
 */
export function mayBeAlive(ranks: readonly RankManifest[], now: number): boolean {
  return ranks.some(
    (m) => !m.ended && (m.host !== hostname() || processExists(m.pid) || now - m.writtenMs < RECENT_MS),
  );
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
