import { groupBy } from '../../base/group-by.js';
import { smallest } from '../../base/statistics.js';
import type { DumpedCall } from '../../model/flight-dump.js';
import { ascending, type JobProgress } from './progress.js';

/** Ranks that call different collectives where the others of their group expect the same. */
export interface DifferentCalls {
  readonly group: string;
  readonly sequence: number;
  /** The call of most ranks first. */
  readonly calls: readonly { readonly call: string; readonly ranks: readonly number[] }[];
  /** The ranks that differ from most, or that never called it after the same call before. Empty: nothing shows which. */
  readonly odd: readonly number[];
}

/** The first such call of a group in which ranks wait. */
export function differentCalls(job: JobProgress): DifferentCalls | null {
  const stuck = new Set(
    [...job.ranks.values()].flatMap((r) => r.pending.flatMap((c) => (c.peer === null ? c.group : []))),
  );
  const found = [...stuck].flatMap((group) => differentIn(group, job) ?? []);
  const first = smallest(found.map((f) => f.enteredNs));
  return found.find((f) => f.enteredNs === first)?.different ?? null;
}

/** Gloo describes its groups as `undefined`. */
const nameOf = ({ description, group }: DumpedCall) =>
  description && description !== 'undefined' ? description : `group ${group}`;

/** Collectives that gather or scatter may have other sizes on each rank. */
const SIZES_DIFFER = /gather|scatter|all_?to_?all|broadcast|^reduce$|coalesced/i;

const callOf = ({ name, sizes, types }: DumpedCall) =>
  SIZES_DIFFER.test(name) ? name : `${name} ${sizes} ${types}`.trim();

function differentIn(group: string, job: JobProgress) {
  const ranks = [...job.ranks.values()].map((r) => ({ rank: r.rank, calls: r.in(group).calls }));
  // Looked at only as far as all of them remember: the first that is pending anywhere, and the calls before it.
  const sequences = [...new Set(ranks.flatMap(({ calls }) => [...calls.keys()]))].sort(ascending);
  for (const sequence of sequences) {
    const here = ranks.flatMap(({ rank, calls }) => {
      const call = calls.get(sequence);
      return call ? [{ rank, call }] : [];
    });
    const kinds = [...groupBy(here, ({ call }) => callOf(call))].sort((a, b) => b[1].length - a[1].length);
    if (kinds.length < 2) continue;
    const calls = kinds.map(([call, of]) => ({ call, ranks: of.map((c) => c.rank).sort(ascending) }));
    const isClear = calls[0]!.ranks.length > here.length / 2;
    const odd = isClear
      ? calls.slice(1).flatMap((c) => c.ranks)
      : unprecedented(
          here.map((h) => h.rank),
          job,
          (c) => c.group === group && c.sequence === sequence && c.peer === null,
        );
    return {
      different: {
        group: nameOf(here[0]!.call),
        sequence,
        calls,
        odd: odd.toSorted(ascending),
      },
      enteredNs: smallest(here.map(({ call }) => call.enteredNs ?? Infinity)),
    };
  }
  return null;
}

/**
 * Which of the ranks made a call, right after the one before it, that no rank ever made after such a call. A loop repeats
 * itself, so the rank that left it stands out. Empty: none does, or all.
 */
export function unprecedented(
  ranks: readonly number[],
  job: JobProgress,
  isAt: (call: DumpedCall) => boolean,
): readonly number[] {
  const to = (rank: number, { name, group, description, peer, sizes }: DumpedCall) =>
    `${description || group} ${name} ${peer === null ? sizes : distance(rank, peer, job.members(group))}`;
  const pair = (rank: number, before: DumpedCall, call: DumpedCall) =>
    `${to(rank, before)} > ${to(rank, call)}`;
  const seen = new Map<string, number>();
  for (const { rank, calls } of job.ranks.values())
    for (let i = 1; i < calls.length; i++) {
      const key = pair(rank, calls[i - 1]!, calls[i]!);
      seen.set(key, (seen.get(key) ?? 0) + 1);
    }
  const odd = ranks.filter((rank) => {
    const calls = job.ranks.get(rank)?.calls ?? [];
    const at = calls.findIndex(isAt);
    return at > 0 && seen.get(pair(rank, calls[at - 1]!, calls[at]!)) === 1;
  });
  return odd.length < ranks.length ? odd : [];
}

/** The next stage is 1 away from each stage of a pipeline, and from the last one the first. */
const distance = (rank: number, peer: number, members: readonly number[]) =>
  (peer - members.indexOf(rank) + members.length) % Math.max(1, members.length);
