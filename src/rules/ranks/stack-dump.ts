import { BOTTLENECK_OF, elsewhereInWords, processName, stateInWords } from '../../answers/kit/stack-words.js';
import { namedRanks } from '../../base/rank-ranges.js';
import { formatWholePercent, share } from '../../base/units.js';
import {
  isMostly,
  MOSTLY as MOSTLY_SHARE,
  type ProcessStacks,
  splitRanks,
} from '../../diagnosis/hang/process-stacks.js';
import type { Job } from '../../remedies/kit/job.js';
import { about, type Use, use } from '../../remedies/remedies.js';
import { evidenceOf } from '../kit/evidence.js';
import type { Evidence } from '../kit/finding.js';
import { found, type RankFinding, type RunRule, silent, threshold } from '../kit/rule.js';

const MOSTLY = threshold(
  'samples in one state',
  share(MOSTLY_SHARE),
  'of the main thread',
  'half of the time decides',
);

export const rule: RunRule = {
  reads: 'run',
  unpriced: 'allowed',
  info: {
    id: 'stack-dump',
    alias: 'T21',
    title: 'Stacks show where the job is stuck, or what it is busy with',
    needs: 'py-spy dump (text or JSON), or py-spy record (flame graph, raw or speedscope)',
    looksFor:
      'The main thread in a collective, in a wait for DataLoader workers, in a lock or a read; a rank that is in another place than the others; a stack that two dumps have in common.',
    why: 'A job that hangs writes no trace. Its stacks still show what each rank waits for.',
    more: '--native adds frames of C extensions. py-spy needs the same user and the right to trace: sudo, or --cap-add SYS_PTRACE for a container. `py-spy top --pid` shows where time goes while you watch.',
    ...about('read-stacks'),
    thresholds: [MOSTLY],
  },
  check({ evidence: { stacks }, verdict, ranks, job }) {
    const telling = stacks.filter(tells);
    if (stacks.length === 0) return silent('no py-spy stacks');
    const apart = elsewhere(stacks, job);
    if (apart) return found(apart);
    const [worst] = telling;
    if (!worst) return silent('the stacks show no wait for input, other ranks or a lock');
    const addresses = BOTTLENECK_OF[worst.states[0]!.doing];
    if (ranks.length > 0 && addresses !== verdict.bottleneck)
      return silent('the stacks show a wait that is not the bottleneck');
    return found({
      id: 'stack-dump',
      title: `${whose(telling)} ${stateInWords(worst.states[0]!)}`,
      confidence: worst.kind === 'samples' || worst.hasMoved === false ? 0.8 : 0.6,
      addresses,
      evidence: telling.flatMap(shownBy),
      price: null,
      ranks: telling.flatMap((s) => s.rank ?? []),
      remedy: remedyOf(worst, job),
    });
  },
};

const tells = (stacks: ProcessStacks) => isMostly(stacks) && BOTTLENECK_OF[stacks.states[0]!.doing] !== null;

/** Processes in the same state as the first. */
function whose(stacks: readonly ProcessStacks[]): string {
  const same = stacks.filter((s) => s.states[0]!.doing === stacks[0]!.states[0]!.doing);
  const known = same.flatMap((s) => s.rank ?? []);
  return same.length > 1 && known.length === same.length
    ? `each of ${namedRanks(known)}`
    : processName(same[0]!);
}

function elsewhere(stacks: readonly ProcessStacks[], job: Job): RankFinding | null {
  const split = splitRanks(stacks);
  if (!split) return null;
  const late = split.elsewhere[0]!;
  return {
    id: 'rank-elsewhere',
    title: elsewhereInWords(split),
    confidence: split.elsewhere.some((s) => s.hasMoved === false) ? 0.9 : 0.75,
    addresses: BOTTLENECK_OF[late.states[0]!.doing] ?? 'host',
    evidence: [...split.elsewhere, ...split.waiting].flatMap(shownBy),
    price: null,
    ranks: split.elsewhere.flatMap((s) => s.rank ?? []),
    remedy: remedyOf(late, job),
  };
}

function shownBy(stacks: ProcessStacks): Evidence[] {
  const moved =
    stacks.hasMoved === null
      ? ''
      : stacks.hasMoved
        ? '; its stack moves: slow, not stuck'
        : '; its stack did not move between two dumps: stuck';
  const shown =
    stacks.kind === 'dump' ? stacks.states.slice(0, 1) : stacks.states.filter((s) => s.share >= 0.1);
  return [
    ...shown.map((state) => {
      const doing = `${processName(stacks)} ${stateInWords(state)}`;
      if (stacks.kind === 'dump') return evidenceOf(stacks.rank, doing + moved);
      const counted = `${formatWholePercent(state.share)} of ${stacks.samples} samples`;
      return evidenceOf(stacks.rank, `${doing}, ${counted}`, state.share, 'of the main thread’s samples');
    }),
    ...stacks.workers
      .slice(0, 2)
      .map((worker) => evidenceOf(stacks.rank, `a DataLoader worker is in ${worker.at ?? worker.call}`)),
  ];
}

/** Commands for the processes that were dumped, and their ranks. */
const remedyOf = (stacks: ProcessStacks, job: Job): Use =>
  use('read-stacks', {
    doing: stacks.states[0]?.doing ?? 'unknown',
    pid: stacks.pid,
    job,
    ranks: [...job.processes.keys()].filter((rank) => rank !== stacks.rank),
  });
