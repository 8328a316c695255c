import { groupBy } from '../../base/group-by.js';
import { mean } from '../../base/statistics.js';
import { formatCount } from '../../base/units.js';
import { inOneLine, use } from '../../remedies/remedies.js';
import type { ProcessStacks } from '../../triage/stacks/stacks.js';
import type { LiveClaim } from '../kit/claim.js';
import { labelOf, words } from '../kit/words.js';
import { withFlightRecorder } from './next.js';
import { IS_MESSAGE } from './ring.js';
import { MAX_NAMED, placeWords, type SeenStacks } from './seen-stacks.js';
import { percent } from './words.js';

/** Share of samples in a collective: a rank that waits there, and one that is missing. */
const WAITS_THERE = 0.75;
const IS_MISSING = 0.25;
/** Share of samples that names what a thread does. */
const MOSTLY = 0.6;
export function judgeMissingRank({ stacks }: SeenStacks): LiveClaim | null {
  const waiting = stacks.filter((s) => s.inCollective >= WAITS_THERE && !s.isStopped);
  const missing = stacks.filter((s) => s.inCollective <= IS_MISSING || s.isStopped);
  if (waiting.length === 0 || missing.length === 0 || waiting.length + missing.length < stacks.length)
    return null;
  const isHung = waiting.every((s) => s.isStuck);
  const where = waiting[0]!.collective!;
  const named = missing.slice(0, MAX_NAMED).map(whereItIs);
  return {
    bottleneck: 'comms',
    cause: 'rank-missing',
    confidence: isHung ? 0.9 : 0.75,
    words: words(
      isHung ? 'Hung' : 'Waiting',
      `${waiting.length} of ${stacks.length} ranks wait in ${where}; ${named.join('; ')}`,
    ),
    evidence: stacks.slice(0, MAX_NAMED).map(placeWords),
    advice: missing.some((s) => s.isStopped)
      ? 'A stopped process goes on after `kill -CONT`.'
      : isHung
        ? 'All ranks must call the same collectives in the same order. Look at what the missing rank does there.'
        : 'The others wait for it at every step. What it does there is the limit.',
    next: missing.slice(0, 1).map((s) => `py-spy dump --pid ${s.pid}`),
  };
}

const whereItIs = ({ name, place, isStopped }: ProcessStacks) =>
  isStopped ? `${name} is stopped by a signal, in ${place}` : `${name} is in ${place}`;

/** All ranks wait in collectives, and a few of them in another one than the others. */
export function judgeOtherCall({ stacks }: SeenStacks): LiveClaim | null {
  if (!stacks.every((s) => s.isStuck && s.collective !== null)) return null;
  const calls = [...groupBy(stacks, (s) => `${s.collective} at ${s.place}`)].sort(
    (a, b) => b[1].length - a[1].length,
  );
  const [[most, usual], ...others] = calls as [[string, ProcessStacks[]], ...[string, ProcessStacks[]][]];
  // In a chain of sends and receives every rank may be at another line.
  if (IS_MESSAGE.test(usual[0]!.collective ?? '')) return null;
  if (others.length === 0 || usual.length < MOST_RANKS * stacks.length || stacks.length < LEAST_RANKS)
    return null;
  const apart = others.flatMap(([call, own]) => own.map((s) => ({ call, own: s })));
  // In the same collective at another line a rank may only wait for the one that is in another collective.
  const inOther = apart.filter(({ own }) => own.collective !== usual[0]!.collective);
  const odd = inOther.length > 0 ? inOther : apart;
  const named = odd.slice(0, MAX_NAMED).map(({ call, own }) => `${own.name} in ${call}`);
  return {
    bottleneck: 'comms',
    cause: 'rank-missing',
    confidence: 0.75,
    words: words('Hung', `${usual.length} of ${stacks.length} ranks wait in ${most}; ${named.join('; ')}`),
    evidence: stacks.slice(0, MAX_NAMED).map(placeWords),
    advice:
      'All ranks must call the same collectives in the same order. Look at which branch that rank took.',
    next: odd.slice(0, 1).map(({ own }) => `py-spy dump --pid ${own.pid}`),
  };
}

/** DDP waits inside backward, where no stack shows a collective. A rank that is not in torch at all is not there. */
export function judgeApart({ stacks }: SeenStacks): LiveClaim | null {
  if (stacks.length < LEAST_RANKS || !stacks.every((s) => s.isStuck && s.collective === null)) return null;
  const [[place, most]] = [...groupBy(stacks, (s) => s.place)].sort((a, b) => b[1].length - a[1].length) as [
    [string, ProcessStacks[]],
  ];
  const odd = stacks.filter((s) => s.place !== place);
  const isClear = odd.length > 0 && most.length >= MOST_RANKS * stacks.length;
  if (!isClear || most.some((s) => s.inTorch < WAITS_THERE) || odd.some((s) => s.inTorch > IS_MISSING))
    return null;
  const named = odd.slice(0, MAX_NAMED).map(whereItIs);
  return {
    bottleneck: 'comms',
    cause: 'rank-missing',
    confidence: 0.7,
    words: words('Hung', `${most.length} of ${stacks.length} ranks wait in ${place}; ${named.join('; ')}`),
    evidence: stacks.slice(0, MAX_NAMED).map(placeWords),
    advice:
      'The others wait inside torch, as DDP does in backward. Look at what the missing rank does there.',
    next: odd.slice(0, 1).map((s) => `py-spy dump --pid ${s.pid}`),
  };
}

export function judgeHang({ stacks, activity, outside }: SeenStacks): LiveClaim | null {
  if (!stacks.every((s) => s.isStuck)) return null;
  const all = stacks.every((s) => s.collective !== null);
  return {
    bottleneck: 'unknown',
    cause: 'hung',
    confidence: 0.8,
    words: words(
      'Hung',
      all
        ? `every rank waits in a collective (${[...new Set(stacks.map((s) => s.collective))].join(', ')})`
        : stacks.length === 1
          ? `${stacks[0]!.name} is stuck in ${stacks[0]!.place}`
          : `no process moves: ${whereAll(stacks)}`,
    ),
    evidence: [...stacks.slice(0, MAX_NAMED).map(placeWords), ...outside.evidence],
    advice: all
      ? 'Ranks that wait in different collectives have called them in a different order; in the same one, a rank on another machine is missing, or the network is.'
      : stacks.length === 1
        ? 'It waits there, and nothing has woken it.'
        : 'Ranks at a line where no other rank is may be the ones that the others wait for.',
    next: [
      `py-spy dump --locals --pid ${stacks[0]!.pid}`,
      ...(all && activity.usesGpu ? [withFlightRecorder(activity)] : []),
    ],
  };
}

/** By place, most processes first: none of them is known to hold up the others. */
function whereAll(stacks: readonly ProcessStacks[]): string {
  const places = [...groupBy(stacks, (s) => s.place)].sort((a, b) => b[1].length - a[1].length);
  return places
    .slice(0, MAX_NAMED)
    .map(
      ([place, own]) =>
        `${own.length === 1 ? own[0]!.name : formatCount(own.length, 'process', 'processes')} in ${place}`,
    )
    .join('; ');
}

/**
 * Ranks that all stay in one line but for a few: with NCCL a rank does not wait in the collective but in a later line that
 * needs its result, and spins there.
 */
export function judgeOddRank({ stacks }: SeenStacks): LiveClaim | null {
  const byPlace = [...groupBy(stacks, (s) => s.place)].sort((a, b) => b[1].length - a[1].length);
  const [place, most] = byPlace[0]!;
  const odd = stacks.filter((s) => s.place !== place);
  const isClear = odd.length > 0 && most.length >= MOST_RANKS * stacks.length && stacks.length >= LEAST_RANKS;
  if (!isClear || !stacks.every((s) => s.isConstant)) return null;
  const named = odd.slice(0, MAX_NAMED).map((s) => `${s.name} is in ${s.place}`);
  return {
    bottleneck: 'comms',
    cause: 'rank-missing',
    confidence: 0.6,
    words: words(
      'Hung, or very slow',
      `${most.length} of ${stacks.length} ranks stay in ${place}; ${named.join('; ')}`,
    ),
    evidence: stacks.slice(0, MAX_NAMED).map(placeWords),
    advice: 'The others may wait for it in a collective. Look at what it does there.',
    next: odd.slice(0, 1).map((s) => `py-spy dump --pid ${s.pid}`),
  };
}
/** Of fewer ranks none is the odd one. */
const LEAST_RANKS = 3;
const MOST_RANKS = 0.6;

/** Decides between loading and launching, which look alike from outside. */
export function judgeWhereItRuns({ stacks, activity, outside }: SeenStacks): LiveClaim {
  const evidence = [...stacks.slice(0, MAX_NAMED).map(placeWords), ...outside.evidence];
  const share = (of: 'inLoader' | 'inCompiler' | 'inTorch') => mean(stacks.map((s) => s[of]));
  const place = stacks[0]!.place;
  const isOpen =
    ['launch', 'mixed', 'compute', 'data-cpu', 'idle'].includes(outside.cause) &&
    activity.workers.length === 0;
  if (!isOpen) return { ...outside, evidence };
  if (share('inLoader') >= MOSTLY)
    return {
      ...outside,
      bottleneck: 'data',
      // A thread that loads and uses no CPU waits for a disk, a network or a store.
      cause: outside.cause === 'idle' ? 'data-io' : 'data-cpu',
      confidence: 0.9,
      words: words(
        labelOf('data'),
        `the training thread loads data itself ${percent(share('inLoader'))} of the time, in ${place}`,
      ),
      evidence,
      advice: inOneLine(use('loader-workers', { workers: 'N', cores: null, pin: true })),
    };
  if (!activity.usesGpu) return { ...outside, evidence };
  if (share('inCompiler') >= MOSTLY)
    return {
      ...outside,
      bottleneck: 'host',
      cause: 'compile',
      confidence: 0.85,
      words: words(
        labelOf('host'),
        `torch compiles ${percent(share('inCompiler'))} of the time, in ${place}`,
      ),
      evidence,
      advice: `If it goes on after the first steps, shapes change. ${inOneLine(use('few-shapes'))}`,
    };
  if (share('inTorch') >= MOSTLY)
    return {
      ...outside,
      bottleneck: 'host',
      cause: 'launch',
      confidence: 0.85,
      words: words(labelOf('host'), `the training thread is pegged in torch calls, most often from ${place}`),
      evidence,
    };
  return { ...outside, evidence };
}
