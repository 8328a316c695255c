import { namedRanks } from '../../base/rank-ranges.js';
import type { Verdict } from '../verdict/verdict.js';
import { whoIsMissing } from './hang-words.js';
import type { StuckCollective } from './stuck-collectives.js';

/** The answer for a job of which only dumps exist: it hangs, and no step was measured. Null: nothing tells that it hangs. */
export function hangVerdict({ stuck }: { readonly stuck: readonly StuckCollective[] }): Verdict | null {
  const [first] = stuck;
  if (!first) return null;
  const absent = first.missing.map((m) => m.rank);
  const certain = absent.length > 0 || first.different.length > 0;
  if (!certain && first.unknown.length === 0) return null;
  const look = absent.length > 0 ? absent : first.unknown;
  return {
    bottleneck: 'comms',
    cause: 'stuck-collective',
    confidence: certain ? 0.9 : 0.7,
    sentence: `The job hangs: ${whoIsMissing(first)}`,
    second: null,
    next: look.length > 0 ? [`dump the stack of ${namedRanks(look)}: py-spy dump --pid PID`] : [],
  };
}
