import type { Activity } from '../../triage/activity/activity.js';
import type { ProcessStacks } from '../../triage/stacks/stacks.js';
import type { LiveClaim } from '../kit/claim.js';

/** A training job's stacks, and what was concluded without them. */
export interface SeenStacks {
  readonly stacks: readonly ProcessStacks[];
  readonly activity: Activity;
  readonly outside: LiveClaim;
}

export const MAX_NAMED = 8;

export function placeWords({
  name,
  isStuck,
  collective,
  inCollective,
  place,
  placeShare,
  samples,
}: ProcessStacks): string {
  const at = collective !== null && inCollective >= 0.5 ? `in ${collective}, from ${place}` : `in ${place}`;
  return `${name}: ${isStuck ? 'stuck ' : ''}${at}, ${Math.round(placeShare * samples)} of ${samples} samples`;
}
