import { kindOfName } from '../facts/collective-names.js';
import { CollectivesBuilder } from '../facts/collectives-builder.js';
import type { CollectiveGroup, RankCollectives } from '../facts/rank-collectives.js';
import type { EventLogRun } from '../model/event-log.js';
import { collectiveOf } from './phases.js';
import { eachRank, type RankRecords } from './step-records.js';

/** What event logs do not record of a collective. */
export const NO_DETAILS = { sequence: Number.NaN, peer: -1, bytes: Number.NaN, dtype: '' };
/** Collectives of logs have no clock that can be compared, and steps with the job's own numbers. */
export const FROM_LOG = { baseNs: 0n, timed: false, numbered: true, profilerStart: false };

/**
 * Collectives of an event log: records named `collective:<kind>` or `<kind>`, for each rank of the run that has any. The k-th of a name
 * in a step is the same collective on all ranks. Clocks are not compared: start times only order the records. A loop can
 * time a collective only where its host, or the stream that computes, does nothing else, so all of it is exposed.
 */
export function collectivesOfLog(
  run: EventLogRun,
  members = new MemberLists(),
): { rank: number; collectives: RankCollectives }[] {
  return eachRank(run, (records) => {
    const collectives = fromRecords(records, worldSizeOf(run), members);
    return collectives ? [{ rank: records.rank, collectives }] : [];
  });
}

function worldSizeOf({ header }: EventLogRun): number | null {
  const size = header?.worldSize ?? null;
  return size !== null && size >= 2 && size <= MAX_RANKS ? size : null;
}

/** More ranks than any job has. */
const MAX_RANKS = 1 << 17;
/** Members listed for one run, over all groups: a few bytes of a damaged log must not fill the memory. */
const MAX_LISTED = 1 << 21;

/** Members of groups, by what logs say of them. All ranks of a run share them: each log names the same groups. */
export class MemberLists {
  readonly #lists = new Map<string, readonly number[] | null>();
  #listed = 0;

  /** Null: unknown. Without `ranks`: too many to list. */
  of(name: string, worldSize: number | null): { ranks: readonly number[] | null; size: number } | null {
    const key = `${worldSize} ${name.split('@')[1] ?? ''}`;
    let ranks = this.#lists.get(key);
    if (ranks === undefined) {
      ranks = membersOf(name, worldSize);
      if (this.#listed > MAX_LISTED) return ranks && { ranks: null, size: ranks.length };
      this.#listed += ranks?.length ?? 0;
      this.#lists.set(key, ranks);
    }
    return ranks && { ranks, size: ranks.length };
  }
}

/** Members of a group: `all_reduce@0-3`, `@0-12/4` (every fourth), `@0.2.5`; all ranks without an `@`. Null: unknown. */
export function membersOf(name: string, worldSize: number | null): readonly number[] | null {
  const [, list] = name.split('@');
  if (list === undefined) return worldSize === null ? null : range(0, worldSize - 1, 1);
  const [, first, last, stride = '1'] = /^(\d{1,7})-(\d{1,7})(?:\/(\d{1,7}))?$/.exec(list) ?? [];
  if (first !== undefined) {
    const ranks = range(Number(first), Number(last), Number(stride));
    return ranks.length >= 2 ? ranks : null;
  }
  return /^\d{1,7}(?:\.\d{1,7})+$/.test(list) ? list.split('.').map(Number) : null;
}

function range(first: number, last: number, stride: number): number[] {
  const count = stride > 0 ? Math.floor((last - first) / stride) + 1 : 0;
  return Array.from({ length: Math.max(0, Math.min(count, MAX_RANKS)) }, (_, i) => first + i * stride);
}

/** `grad_sync` stands for several kinds; in all of them nobody ends before all members have arrived. */
const kindOf = (name: string) => (name.startsWith('grad_sync') ? 'all_reduce' : kindOfName(name));

/** No transfer through the host is shorter on the device. ns. */
const LEAST_TRANSFER = 150_000;
/** A shorter time on the host is not a wait. ns. */
const LEAST_HOST_WAIT = 500_000;

/**
 * The host waited for the collective (gloo) while the device was still computing, and it was over before the device was
 * done. So no rank waited for this one, and the collective lasted as long as the host waited.
 */
const isHidden = (ns: number, hostNs: number) => ns <= LEAST_TRANSFER && hostNs >= LEAST_HOST_WAIT;

function fromRecords(
  records: RankRecords,
  worldSize: number | null,
  members: MemberLists,
): RankCollectives | null {
  const groups: CollectiveGroup[] = [];
  const builder = new CollectivesBuilder();
  const groupOf = records.phases.map(({ name }) => {
    const kind = collectiveOf(name);
    if (kind === null) return -1;
    const { ranks, size } = members.of(kind, worldSize) ?? { ranks: null, size: null };
    // Where the members are not recorded, collectives of one name count as one group.
    const known = { ranks, size, named: size !== null };
    return groups.push({ key: `events ${name}`, name: kind, description: '', ...known }) - 1;
  });
  // Without start times, records follow each other in the order of the file.
  const hasStarts = records.steps.every((s) =>
    [...s.parts.values()].every((parts) => parts.every((p) => !Number.isNaN(p.start))),
  );
  let now = 0;
  records.steps.forEach(({ parts: byPhase }, step) => {
    const inStep = [...byPhase].flatMap(([phase, parts]) =>
      groupOf[phase]! < 0 ? [] : parts.map((part) => ({ phase, ...part })),
    );
    if (hasStarts) inStep.sort((a, b) => a.start - b.start);
    let covered = Number.NEGATIVE_INFINITY;
    for (const { phase, start: at, ns, hostNs } of inStep) {
      const group = groupOf[phase]!;
      const began = hasStarts ? at : now;
      const end = began + ns;
      // Where two run at once, the time is the first one's.
      const exposed = Math.max(0, end - Math.max(began, covered));
      covered = Math.max(covered, end);
      const start = isHidden(ns, hostNs) ? end - hostNs : began;
      builder.add({
        group,
        kind: kindOf(groups[group]!.name),
        ...NO_DETAILS,
        start,
        end,
        onDevice: records.phases[phase]!.clock !== 'host',
        step,
        exposed,
      });
      now += ns;
    }
  });
  if (builder.length === 0) return null;
  return builder.finish({
    source: 'events',
    groups,
    steps: records.steps.map((s) => s.number),
    ...FROM_LOG,
  });
}
