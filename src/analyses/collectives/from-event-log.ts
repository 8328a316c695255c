import type { EventLogRun } from '../../model/event-log.js';
import { type RankRecords, recordsByRank } from '../events/step-records.js';
import { CollectivesBuilder } from './builder.js';
import { kindOfName } from './names.js';
import type { CollectiveGroup, RankCollectives } from './rank-collectives.js';

const PREFIX = 'collective:';

/**
 * Collectives of an events log: records named `collective:<kind>`, one list a rank of the run; ranks without any are left
 * out. Durations only: the k-th of a name in a step is the same on all ranks, and no clock is compared.
 */
export function fromEventLog(run: EventLogRun): { rank: number; collectives: RankCollectives }[] {
  return recordsByRank(run).flatMap((records) => {
    const collectives = fromRecords(records);
    return collectives ? [{ rank: records.rank, collectives }] : [];
  });
}

function fromRecords(records: RankRecords): RankCollectives | null {
  const groups: CollectiveGroup[] = [];
  const builder = new CollectivesBuilder();
  const groupOf = records.phases.map(({ name }) => {
    if (!name.startsWith(PREFIX)) return -1;
    // Which group it was is not recorded; collectives of one name are taken for one group's.
    const unnamed = { name: name.slice(PREFIX.length), description: '', size: null, ranks: null };
    return groups.push({ ...unnamed, key: `events ${name}`, named: false }) - 1;
  });
  // A clock of its own: without start times the order in the file is all there is.
  let now = 0;
  records.steps.forEach((step, place) => {
    for (const [phase, parts] of step.parts) {
      const group = groupOf[phase]!;
      if (group < 0) continue;
      for (const { ns } of parts) {
        builder.add({
          ...{ group, kind: kindOfName(groups[group]!.name), step: place, start: now, end: now + ns },
          ...{ sequence: Number.NaN, peer: -1, bytes: Number.NaN, dtype: '' },
          onDevice: records.phases[phase]!.clock !== 'host',
          // Nothing is known about what ran meanwhile.
          exposed: ns,
        });
        now += ns;
      }
    }
  });
  if (builder.length === 0) return null;
  return builder.finish({
    ...{ source: 'events', baseNs: 0n, timed: false, groups, numbered: true, profilerStart: false },
    steps: records.steps.map((s) => s.number),
  });
}
