import { namedRanks } from '../../base/rank-ranges.js';
import type { ProcessStacks } from '../../triage/stacks/stacks.js';
import type { LiveClaim } from '../kit/claim.js';
import { words } from '../kit/words.js';
import { MAX_NAMED, placeWords, type SeenStacks } from './seen-stacks.js';

/**
 * Sends and receives in which all ranks wait: the waits lead to ranks that wait for each other. Of these, the one at a line
 * where nobody else is has left the order of its calls, if another is where others are too.
 */
export function judgeRing({ stacks }: SeenStacks): LiveClaim | null {
  if (!stacks.every((s) => s.isStuck && IS_MESSAGE.test(s.collective ?? ''))) return null;
  const byRank = new Map(stacks.map((s) => [s.rank, s]));
  const next = (s: ProcessStacks) => (s.peer === null ? undefined : byRank.get(s.peer));
  let end = stacks[0];
  for (let i = 0; end && i < stacks.length; i++) end = next(end);
  if (!end) return null;
  const ring = [end];
  for (let s = next(end); s && s !== end; s = next(s)) ring.push(s);
  const others = stacks.filter((s) => !ring.includes(s));
  const isShared = (s: ProcessStacks) => stacks.some((o) => o !== s && o.place === s.place);
  const shared = ring.filter(isShared);
  const odd = shared.length > 0 ? ring.filter((s) => !isShared(s)) : [];
  const rest = others.length === 0 ? '' : '; the others wait for those';
  const wait = (s: ProcessStacks) => `${s.name} waits for rank ${s.peer} in ${s.collective} at ${s.place}`;
  const named = odd.length > 0 ? odd : ring;
  const headline =
    odd.length > 0
      ? `${odd.map((s) => `${s.name} is in ${s.collective} with rank ${s.peer} at ${s.place}, where no other rank is`).join('; ')}; ${ranksOf(shared)} ${shared.length === 1 ? 'waits' : 'wait'} for it in turn${rest}`
      : `${ranksOf(ring)} wait for each other in a ring: ${ring.slice(0, MAX_NAMED).map(wait).join('; ')}${rest}`;
  return {
    bottleneck: 'comms',
    cause: 'rank-missing',
    confidence: odd.length > 0 ? 0.7 : 0.6,
    words: words('Hung', headline),
    evidence: stacks.slice(0, MAX_NAMED).map(placeWords),
    advice:
      'Each waits for a message that the other sends later. Give sends and receives one order on all ranks, or use batch_isend_irecv.',
    next: named.slice(0, 2).map((s) => `py-spy dump --locals --pid ${s.pid}`),
  };
}

export const IS_MESSAGE = /^(?:send|recv)$/;
const ranksOf = (stacks: readonly ProcessStacks[]) => namedRanks(stacks.flatMap((s) => s.rank ?? []));
