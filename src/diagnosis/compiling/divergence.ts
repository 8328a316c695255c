import type { Compilation, CompileTimes } from '../../model/compile-log.js';

type Place = Pick<Compilation, 'name' | 'file' | 'line'>;
/** The same for all versions of a function, also on other ranks. */
export const placeOf = ({ name, file, line }: Place): string => `${name} ${file} ${line}`;

/** A function whose compiled code runs other collectives on some ranks than on others. */
export interface Divergence extends Place {
  /** Number of the first collective that differs, from 1. */
  readonly position: number;
  /** What the ranks run there. Null: their code has no more collectives. */
  readonly calls: readonly { readonly call: string | null; readonly ranks: readonly number[] }[];
}

/**
 * Compares the collectives in compiled code between ranks. A rank whose code came from a cache logs none, and a function may have
 * several versions: it diverges if ranks have no version in common.
 */
export function divergence(logs: readonly CompileTimes[]): readonly Divergence[] {
  const functions = new Map<string, Logged[]>();
  for (const { rank, compilations } of logs)
    for (const one of compilations)
      if (rank !== null && one.collectives !== null) {
        const key = placeOf(one);
        const known = functions.get(key) ?? [];
        known.push({ rank, collectives: one.collectives, of: one });
        functions.set(key, known);
      }
  return [...functions.values()].flatMap((logged) => diverging(logged) ?? []);
}

interface Logged {
  readonly rank: number;
  readonly collectives: readonly string[];
  readonly of: Place;
}

function diverging(logged: readonly Logged[]): Divergence | null {
  const versions = new Map<number, Map<string, readonly string[]>>();
  for (const { rank, collectives } of logged) {
    const ofRank = versions.get(rank) ?? new Map<string, readonly string[]>();
    ofRank.set(collectives.join('\n'), collectives);
    versions.set(rank, ofRank);
  }
  const all = [...versions.values()];
  const shared = [...(all[0]?.keys() ?? [])].some((key) => all.every((of) => of.has(key)));
  if (all.length < 2 || shared) return null;
  const firsts = [...versions].map(([rank, of]) => ({ rank, collectives: [...of.values()][0]! }));
  const position = firstDifference(firsts.map(({ collectives }) => collectives));
  if (position === null) return null;
  const calls = new Map<string | null, number[]>();
  for (const { rank, collectives } of firsts) {
    const call = collectives[position] ?? null;
    calls.set(
      call,
      [...(calls.get(call) ?? []), rank].sort((a, b) => a - b),
    );
  }
  const { name, file, line } = logged[0]!.of;
  return {
    name,
    file,
    line,
    position: position + 1,
    calls: [...calls]
      .map(([call, ranks]) => ({ call: call && shortCall(call), ranks }))
      .sort((a, b) => a.ranks[0]! - b.ranks[0]!),
  };
}

function firstDifference(sequences: readonly (readonly string[])[]): number | null {
  const longest = sequences.reduce((n, one) => Math.max(n, one.length), 0);
  for (let i = 0; i < longest; i++) if (sequences.some((one) => one[i] !== sequences[0]![i])) return i;
  return null;
}

/** `torch.ops._c10d_functional.all_reduce_.default` is `all_reduce_` in the words of the job. */
const shortCall = (call: string): string =>
  /^torch\.ops\.\w+\.(\w+)\.\w+$/.exec(call)?.[1]?.replace(/_$/, '') ?? call;
