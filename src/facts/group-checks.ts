import { type CheckResult, found } from '../base/check.js';
import { MAX_GROUPS, type RankCollectives } from './rank-collectives.js';

/** Limits that were reached while process groups were listed. No real job comes near them. */
export function groupChecks(collectives: RankCollectives | null): readonly CheckResult[] {
  if (!collectives) return [];
  const { groups, source } = collectives;
  const isUnlisted = groups.filter(
    ({ key, size, ranks }) =>
      ranks === null && size !== null && (source === 'events' || key.startsWith('ranks ')),
  );
  const consequence = 'they are matched by name; which ranks were not captured, and the mesh, may be unknown';
  return [
    ...found(
      'warning',
      'groups-not-listed',
      isUnlisted.length,
      'process groups with so many members that they were not listed',
      consequence,
    ),
    ...found(
      'warning',
      'too-many-groups',
      Number(groups.length === MAX_GROUPS),
      `more than ${MAX_GROUPS} process groups`,
      'further ones count as one',
    ),
  ];
}
