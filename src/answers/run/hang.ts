import { namedRanks } from '../../base/rank-ranges.js';
import { formatTime, formatWholePercent, ms } from '../../base/units.js';
import type { Hang } from '../../diagnosis/hang/hang.js';
import type { OftenLast } from '../../diagnosis/hang/often-last.js';
import { isMostly, type ProcessStacks, splitRanks } from '../../diagnosis/hang/process-stacks.js';
import type { Doing } from '../../diagnosis/hang/stack-state.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { Bottleneck, Cause } from '../../facts/causes.js';
import type { Claim, Words } from '../kit/claim.js';
import { certaintyOf, culpritInWords, whoIsMissing } from '../kit/hang-words.js';
import { BOTTLENECK_OF, elsewhereInWords, processName, stateInWords } from '../kit/stack-words.js';
import { labelOf, unknown, words } from '../kit/words.js';

/** Processes of ranks that still run. */
type Processes = Observed['job']['processes'];

interface Seen {
  readonly evidence: Pick<Observed['evidence'], 'hang' | 'oftenLast' | 'stacks' | 'isStuck' | 'isOneLook'>;
  readonly job: Pick<Observed['job'], 'processes'>;
}

/** The answer from dumps and stacks alone. Null: there are none. */
export function hangAnswer({ evidence, job: { processes } }: Seen): Claim | null {
  const { hang, stacks, isStuck } = evidence;
  return (
    (hang && fromDumps(hang, stacks, processes)) ??
    (stacks.length > 0 ? fromStacks(stacks, isStuck, processes) : fromTimes(evidence.oftenLast, processes)) ??
    (evidence.isOneLook ? claim('unknown', 'one-look', 0, unknown(ONE_ANSWER), ASK_AGAIN) : null)
  );
}

const ONE_ANSWER =
  'ranks of a healthy job have launched different numbers of collectives too, so one answer of NCCL’s RAS does not show a hang';
const ASK_AGAIN = 'ask again after 10 s, and pass both answers: ncclras -f json > ras-2.json';

/** Nobody waits forever, but the collectives were timed. */
function fromTimes(last: OftenLast | null, processes: Processes): Claim | null {
  if (!last) return null;
  const { rank, times, of, waitMs } = last;
  const headline = `rank ${rank} is the last to arrive in ${times} of ${of} collectives: the first waits ${formatTime(ms(waitMs))} for it in the median`;
  return claim(
    'comms',
    'rank-elsewhere',
    0.7,
    words('Held up by one', headline),
    `look at what it does: ${dumpOf(processes.get(rank))}`,
  );
}

/** Steps were measured, and then none ended any more: why comes before what held up the steps. */
export const stuckAnswer = (seen: Seen): Claim | null => (seen.evidence.isStuck ? hangAnswer(seen) : null);

const claim = (
  bottleneck: Bottleneck,
  cause: Cause,
  confidence: number,
  said: Words,
  ...next: readonly string[]
): Claim => ({ bottleneck, cause, confidence, words: said, next });

/** If a missing rank was dumped too, the wait is charged to what it does. */
function fromDumps(hang: Hang, stacks: readonly ProcessStacks[], processes: Processes): Claim | null {
  const look = hang.culprits.map((c) => c.rank);
  if (look.length === 0 && !hang.different && hang.rings.length === 0) return null;
  const seen = stacks.find((s) => s.rank !== null && look.includes(s.rank) && isMostly(s));
  const doing = seen?.states[0];
  const who = whoIsMissing(hang, doing !== undefined && doing.doing !== 'gone');
  if (seen && doing) {
    const more = `${who}; ${processName(seen)} ${stateInWords(doing)}`;
    const details = hang.culprits
      .filter((c) => c.rank !== seen.rank)
      .slice(0, MOST_NAMED)
      .map(culpritInWords);
    const again = `look at it again: ${dumpOf(processes.get(seen.rank!), seen.pid)}`;
    return claim(
      BOTTLENECK_OF[doing.doing] ?? 'host',
      'stuck-collective',
      0.9,
      words(HANGS, more, ...details),
      again,
    );
  }
  const next =
    look.length > 0 ? [`dump the stack of ${namedRanks(look)}: ${dumpOf(processes.get(look[0]!))}`] : [];
  const details = hang.culprits.slice(0, MOST_NAMED).map(culpritInWords);
  return claim('comms', 'stuck-collective', certaintyOf(hang), words(HANGS, who, ...details), ...next);
}

const MOST_NAMED = 4;
const HANGS = 'The job hangs';

const dumpOf = (process: ReturnType<Processes['get']>, pid: number | null = null) =>
  process === undefined && pid !== null
    ? `py-spy dump --pid ${pid}`
    : process
      ? `py-spy dump --pid ${process.pid}${process.host === null ? '' : ` (on ${process.host})`}`
      : 'whyslow triage --stacks (on the machine of that rank)';

const AGAIN = 'take the stacks of all ranks several times: whyslow triage --stacks';
/** With fewer samples the shares are guesses. */
const ENOUGH = 20;

const NOT_RUNNING: ReadonlySet<Doing> = new Set(['stopped', 'silent', 'gone']);

function fromStacks(stacks: readonly ProcessStacks[], isStuck: boolean, processes: Processes): Claim {
  const split = splitRanks(stacks);
  if (split) {
    const [late] = split.elsewhere;
    const hangs =
      isStuck ||
      split.elsewhere.some((s) => NOT_RUNNING.has(s.states[0]!.doing)) ||
      stacks.every((s) => s.hasMoved === false);
    return claim(
      BOTTLENECK_OF[late!.states[0]!.doing] ?? 'host',
      'rank-elsewhere',
      hangs ? 0.85 : 0.75,
      words(hangs ? HANGS : 'Held up by one', elsewhereInWords(split)),
      `look at it again: ${dumpOf(processes.get(late!.rank ?? -1), late!.pid)}`,
    );
  }
  const together = stacks.filter((s) => isMostly(s) && s.states[0]!.doing === 'collective');
  if (isStuck && stacks.length > 1 && together.length === stacks.length) {
    const calls = [...new Set(together.map((s) => s.states[0]!.call))].join(', ');
    const lines = together.slice(0, MOST_NAMED).map((s) => `${processName(s)} ${stateInWords(s.states[0]!)}`);
    const all = `every rank waits for another one (${calls}), and stacks do not show for which`;
    return claim('comms', 'stack-dump', 0.6, words(HANGS, all, ...lines), AGAIN);
  }
  const sampled = stacks.find((s) => s.kind === 'samples' && s.samples >= ENOUGH && isMostly(s));
  const still = stacks.find((s) => s.hasMoved === false && isMostly(s));
  const telling = sampled ?? still ?? (isStuck ? stacks.find(isMostly) : undefined);
  const [top] = telling?.states ?? [];
  const bottleneck = top && (BOTTLENECK_OF[top.doing] ?? (isStuck ? 'host' : null));
  if (!telling || !top || !bottleneck)
    return claim(
      'unknown',
      'one-look',
      0,
      unknown(
        stacks.some((s) => s.kind === 'samples')
          ? 'in most samples the main thread does nothing that is known to hold up a training job'
          : 'one look at the stack cannot distinguish slow from stuck',
      ),
      AGAIN,
    );
  const how =
    telling === sampled
      ? `${formatWholePercent(top.share)} of ${telling.samples} samples`
      : isStuck
        ? 'no step has ended since'
        : 'its stack did not move between two dumps';
  const said = words(
    labelOf(bottleneck, ', as far as stacks show'),
    `${processName(telling)} ${stateInWords(top)}; ${how}`,
  );
  return claim(bottleneck, 'stack-dump', 0.7, said);
}
