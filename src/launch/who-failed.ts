import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { namedRanks } from '../base/rank-ranges.js';
import { readJson } from './small-file.js';

interface RankEnd {
  readonly rank: number;
  readonly hasEnded: boolean;
  /** The exception that ended it. Null: none. */
  readonly error: { readonly type: string; readonly message: string } | null;
}

/** What a rank sees of another one that is gone. */
const LOST_OTHER =
  /connection (?:closed|reset)|broken pipe|socket (?:closed|timeout)|recv(?:Value)? failed|remote process|NCCL communicator was aborted|DistNetworkError|store.*(?:get|wait)/i;

const MAX_MESSAGE = 160;

/** Which rank ended a failed job, as one line. Null: nothing shows it. `run`: its id. */
export async function whoFailed(out: string, run: string): Promise<string | null> {
  const names = await readdir(join(out, 'ranks')).catch(() => []);
  const read = await Promise.all(
    names.filter((n) => /^rank_\d+\.json$/.test(n)).map((n) => endOf(join(out, 'ranks', n), run)),
  );
  return lineOf(read.filter((r) => r !== null).sort((a, b) => a.rank - b.rank));
}

export function lineOf(ranks: readonly RankEnd[]): string | null {
  const lost = ranks.filter((r) => r.error && LOST_OTHER.test(r.error.message));
  const failed = ranks.filter((r) => r.error && !lost.includes(r));
  const gone = ranks.filter((r) => !r.hasEnded && !r.error);
  const after =
    lost.length > 0
      ? `; ${namedRanks(lost.map((r) => r.rank))} then lost the connection to ${failed.length > 1 || (failed.length === 0 && gone.length > 1) ? 'them' : 'it'}`
      : '';
  const [first] = failed;
  // Launchers end the others with a signal, so a missing end says nothing next to an error.
  if (first?.error) {
    const text = first.error.message.split('\n')[0]!.slice(0, MAX_MESSAGE);
    const who = ranks.length > 1 ? `${namedRanks(failed.map((r) => r.rank))} failed` : 'the job failed';
    return `${who} with ${first.error.type}${text ? `: ${text}` : ''}${after}`;
  }
  if (gone.length === 0 || lost.length === 0) return null;
  // All but one of them, probably, by the launcher, once it saw the first.
  if (gone.length > 1)
    return `${namedRanks(lost.map((r) => r.rank))} lost the connection to another rank; ${namedRanks(gone.map((r) => r.rank))} were ended by signals, and the launcher names the first of them`;
  return `${namedRanks(gone.map((r) => r.rank))} ended without an error of Python, as if killed by a signal${after}`;
}

async function endOf(path: string, run: string): Promise<RankEnd | null> {
  const object = await readJson(path);
  if (object === null || typeof object.rank !== 'number' || object.run !== run) return null;
  const error = object.error as { type?: unknown; message?: unknown } | undefined;
  const anchors = Array.isArray(object.anchors) ? object.anchors : [];
  return {
    rank: object.rank,
    hasEnded: anchors.some((a: { at?: unknown } | null) => a?.at === 'end'),
    error:
      typeof error?.type === 'string' && typeof error.message === 'string'
        ? { type: error.type, message: error.message }
        : null,
  };
}
