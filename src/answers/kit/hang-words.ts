import { namedRanks } from '../../base/rank-ranges.js';
import type { StuckCollective } from '../../diagnosis/hang/stuck-collectives.js';

const verb = (ranks: readonly unknown[], one: string, many: string) => (ranks.length === 1 ? one : many);

/** `all_reduce #4 of default_pg`. */
export const collectiveName = ({ name, sequence, group }: StuckCollective): string =>
  `${name.replace(/^\w+:/, '')} #${sequence} of ${group}`;

/** Who is missing in a collective, in one clause without a full stop. */
export function whoIsMissing(stuck: StuckCollective): string {
  const { missing, unknown, different, waiting } = stuck;
  const where = collectiveName(stuck);
  if (different.length > 0)
    return `ranks call different collectives at #${stuck.sequence} of ${stuck.group}: ${different.map((d) => `${namedRanks(d.ranks)} ${d.call}`).join('; ')}`;
  const absent = missing.map((m) => m.rank);
  const wait = `${namedRanks(waiting)} ${verb(waiting, 'waits', 'wait')}`;
  if (absent.length > 0)
    return `${namedRanks(absent)} ${verb(absent, 'has', 'have')} not entered ${where}, where ${wait}`;
  if (unknown.length > 0)
    return `${wait} in ${where}, and ${namedRanks(unknown)} left no dump: ${verb(unknown, 'its process', 'their processes')} may be gone`;
  return `all of ${namedRanks(waiting)} have entered ${where}, and none has finished`;
}
