import { namedRanks } from '../../base/rank-ranges.js';
import { formatWholePercent } from '../../base/units.js';
import type { Bottleneck } from '../verdict/bottleneck.js';
import type { Verdict } from '../verdict/verdict.js';
import { whoIsMissing } from './hang-words.js';
import { isMostly, type ProcessStacks, splitRanks } from './process-stacks.js';
import { BOTTLENECK_OF, elsewhereInWords, processName, stateInWords } from './stack-words.js';
import type { StuckCollective } from './stuck-collectives.js';

/** Processes of ranks that still run. */
type Processes = ReadonlyMap<number, { readonly pid: number; readonly host: string | null }>;

interface Evidence {
  readonly stuck: readonly StuckCollective[];
  readonly stacks: readonly ProcessStacks[];
}

/** The answer for a job of which only dumps exist, and no step was measured. Null: there are none. */
export function hangVerdict({ stuck, stacks }: Evidence, processes: Processes = new Map()): Verdict | null {
  return (
    (stuck[0] && fromDumps(stuck[0], stacks, processes)) ?? (stacks.length > 0 ? fromStacks(stacks) : null)
  );
}

const verdict = (
  bottleneck: Bottleneck,
  cause: string,
  confidence: number,
  sentence: string,
  ...next: string[]
): Verdict => ({ bottleneck, cause, confidence, sentence, second: null, next });

/** Where a missing rank was dumped too, the wait is charged to what it does. */
function fromDumps(
  first: StuckCollective,
  stacks: readonly ProcessStacks[],
  processes: Processes,
): Verdict | null {
  const absent = first.missing.map((m) => m.rank);
  const certain = absent.length > 0 || first.different.length > 0;
  if (!certain && first.unknown.length === 0) return null;
  const look = absent.length > 0 ? absent : first.unknown;
  const sentence = `The job hangs: ${whoIsMissing(first)}`;
  const seen = stacks.find((s) => s.rank !== null && look.includes(s.rank) && isMostly(s));
  const doing = seen?.states[0];
  if (seen && doing) {
    const more = `${sentence}; ${processName(seen)} ${stateInWords(doing)}`;
    return verdict(BOTTLENECK_OF[doing.doing] ?? 'host', 'stuck-collective', 0.9, more);
  }
  const next =
    look.length > 0 ? [`dump the stack of ${namedRanks(look)}: ${dumpOf(processes.get(look[0]!))}`] : [];
  return verdict('comms', 'stuck-collective', certain ? 0.9 : 0.7, sentence, ...next);
}

const dumpOf = (process: ReturnType<Processes['get']>) =>
  process
    ? `py-spy dump --pid ${process.pid}${process.host === null ? '' : ` (on ${process.host})`}`
    : 'whyslow triage --stacks (on its machine)';

const AGAIN = 'take the stacks of all ranks several times: whyslow triage --stacks';
/** With fewer samples the shares are guesses. */
const ENOUGH = 20;

function fromStacks(stacks: readonly ProcessStacks[]): Verdict {
  const split = splitRanks(stacks);
  if (split) {
    const late = split.elsewhere[0]!.states[0]!.doing;
    return verdict(
      BOTTLENECK_OF[late] ?? 'host',
      'rank-elsewhere',
      0.75,
      `Held up by one: ${elsewhereInWords(split)}`,
    );
  }
  const sampled = stacks.find((s) => s.kind === 'samples' && s.samples >= ENOUGH && isMostly(s));
  const still = stacks.find((s) => s.hasMoved === false && isMostly(s));
  const telling = sampled ?? still;
  const [top] = telling?.states ?? [];
  const bottleneck = top && BOTTLENECK_OF[top.doing];
  if (!telling || !top || !bottleneck)
    return verdict(
      'unknown',
      'one-look',
      0,
      stacks.some((s) => s.kind === 'samples')
        ? 'Unknown: in most samples the training thread does nothing that is known to hold up training'
        : 'Unknown: one look at the stack does not tell slow from stuck',
      AGAIN,
    );
  const how =
    telling === sampled
      ? `${formatWholePercent(top.share)} of ${telling.samples} samples`
      : 'its stack did not move between two dumps';
  const sentence = `${NAMES[bottleneck]}, as far as stacks show: ${processName(telling)} ${stateInWords(top)}; ${how}`;
  return verdict(bottleneck, 'stack-dump', 0.7, sentence);
}

const NAMES: Readonly<Record<Bottleneck, string>> = {
  data: 'Data-bound',
  comms: 'Comms-bound',
  host: 'Host-bound',
  gpu: 'GPU-bound',
  compute: 'Compute-bound',
  unknown: 'Unknown',
};
