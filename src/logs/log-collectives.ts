import { kindOfName } from '../facts/collective-names.js';
import { CollectivesBuilder } from '../facts/collectives-builder.js';
import type { CollectiveGroup, RankCollectives } from '../facts/rank-collectives.js';
import type { EventLogRun } from '../model/event-log.js';
import { type RankRecords, recordsByRank } from './step-records.js';

const PREFIX = 'collective:';

/**
 * Collectives of an events log: records named `collective:<kind>`, one list a rank of the run; ranks without any are left
 * out. The k-th of a name in a step is the same on all ranks, and no clock is compared: start times only order them. They
 * are time in which the host, or the stream that computes, did nothing else: that is where a loop can time them.
 */
export function collectivesOfLog(run: EventLogRun): { rank: number; collectives: RankCollectives }[] {
  return recordsByRank(run).flatMap((records) => {
    const collectives = fromRecords(records, worldSizeOf(run));
    return collectives ? [{ rank: records.rank, collectives }] : [];
  });
}

function worldSizeOf({ header }: EventLogRun): number | null {
  const size = header?.fields.world_size;
  return typeof size === 'number' && size >= 2 && size <= MOST_RANKS ? size : null;
}

/** More than ranks anywhere, and than members of all groups of a rank together. */
const MOST_RANKS = 1 << 17;

/**
 * `all_reduce@0-3`, `@0-12/4` (every fourth), `@0.2.5`: capture writes who is in a group that does not have all ranks.
 * Null: not known.
 */
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
  return Array.from({ length: Math.max(0, Math.min(count, MOST_RANKS)) }, (_, i) => first + i * stride);
}

/** Gradients through groups of several kinds: nobody is done before all members have come, as in each of them. */
const kindOf = (name: string) => (name.startsWith('grad_sync') ? 'all_reduce' : kindOfName(name));

/** On the device, less than any transfer through the host takes; and on the host, to be a wait. ns. */
const NOTHING = 150_000;
const A_WAIT = 500_000;

/**
 * The host waited for it (gloo) while the device was still computing: when that had ended it was over, so nobody can have
 * waited for this rank. Its own time is what the host waited.
 */
const isHidden = (ns: number, hostNs: number) => ns <= NOTHING && hostNs >= A_WAIT;

function fromRecords(records: RankRecords, worldSize: number | null): RankCollectives | null {
  const groups: CollectiveGroup[] = [];
  const builder = new CollectivesBuilder();
  let members = 0;
  const groupOf = records.phases.map(({ name }) => {
    if (!name.startsWith(PREFIX)) return -1;
    const kind = name.slice(PREFIX.length);
    const ranks = members < MOST_RANKS ? membersOf(kind, worldSize) : null;
    members += ranks?.length ?? 0;
    // Where the group is not recorded, collectives of one name are taken for one group's.
    return (
      groups.push({
        ...{ name: kind, description: '', key: `events ${name}` },
        ...{ ranks, size: ranks?.length ?? null, named: ranks !== null },
      }) - 1
    );
  });
  // A clock of its own where start times are missing: the order in the file is all there is.
  const placed = records.steps.every((s) =>
    [...s.parts.values()].every((parts) => parts.every((p) => !Number.isNaN(p.start))),
  );
  let now = 0;
  records.steps.forEach((step, place) => {
    const inStep = [...step.parts].flatMap(([phase, parts]) =>
      groupOf[phase]! < 0 ? [] : parts.map((part) => ({ phase, ...part })),
    );
    if (placed) inStep.sort((a, b) => a.start - b.start);
    let reached = Number.NEGATIVE_INFINITY;
    for (const { phase, start: at, ns, hostNs } of inStep) {
      const group = groupOf[phase]!;
      const began = placed ? at : now;
      // Of two at once the time is the first one's.
      const exposed = Math.max(0, began + ns - Math.max(began, reached));
      reached = Math.max(reached, began + ns);
      const end = began + ns;
      const start = isHidden(ns, hostNs) ? end - hostNs : began;
      builder.add({
        ...{ group, kind: kindOf(groups[group]!.name), step: place, start, end },
        ...{ sequence: Number.NaN, peer: -1, bytes: Number.NaN, dtype: '' },
        onDevice: records.phases[phase]!.clock !== 'host',
        exposed,
      });
      now += ns;
    }
  });
  if (builder.length === 0) return null;
  return builder.finish({
    ...{ source: 'events', baseNs: 0n, timed: false, groups, numbered: true, profilerStart: false },
    steps: records.steps.map((s) => s.number),
  });
}
