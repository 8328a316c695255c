import { collectiveName, whoIsMissing } from '../../answers/kit/hang-words.js';
import { processName, stateInWords } from '../../answers/kit/stack-words.js';
import { namedRanks } from '../../base/rank-ranges.js';
import type { ProcessStacks } from '../../diagnosis/hang/process-stacks.js';
import type { StuckCollective } from '../../diagnosis/run-evidence.js';
import type { Job } from '../../remedies/kit/job.js';
import { about, type Use, use } from '../../remedies/remedies.js';
import type { Evidence } from '../kit/finding.js';
import { found, type RunRule, silent } from '../kit/rule.js';

export const rule: RunRule = {
  reads: 'run',
  unpriced: 'allowed',
  comesFirst: true,
  info: {
    id: 'stuck-collective',
    alias: 'T21',
    title: 'Ranks wait in a collective that others have not entered',
    needs: 'dumps of torch’s flight recorder, one per rank, as JSON',
    looksFor:
      'A collective that some ranks entered and did not leave: who is not in it, or is in another one.',
    why: 'A collective ends when all members are in it. One rank that is stuck elsewhere, has died or took another branch blocks all of them until the timeout ends the job.',
    ...about('dump-missing'),
    thresholds: [],
  },
  check({ evidence: { stuck, stacks }, job }) {
    const [first] = stuck;
    if (!first) return silent('no flight-recorder dump shows a rank waiting');
    const certain = first.missing.length > 0 || first.different.length > 0;
    return found({
      id: first.different.length > 0 ? 'different-collectives' : 'stuck-collective',
      title: whoIsMissing(first),
      confidence: certain ? 0.9 : first.unknown.length > 0 ? 0.7 : 0.5,
      addresses: 'comms',
      evidence: [...stuck.flatMap(evidenceOf), ...stacksOf(culprits(first), stacks)],
      price: null,
      ranks: culprits(first),
      remedy: remedyOf(first, job),
    });
  },
};

const culprits = ({ missing, unknown, waiting }: StuckCollective): readonly number[] =>
  missing.length > 0 ? missing.map((m) => m.rank) : unknown.length > 0 ? unknown : waiting;

/** What the missing ranks do, if they were dumped too. */
const stacksOf = (ranks: readonly number[], stacks: readonly ProcessStacks[]): Evidence[] =>
  stacks
    .filter((s) => s.rank !== null && ranks.includes(s.rank) && s.states.length > 0)
    .slice(0, MAX_MISSING)
    .map((s) => line(`${processName(s)} ${stateInWords(s.states[0]!)}`, s.rank!));

const MAX_MISSING = 8;

function evidenceOf(stuck: StuckCollective): Evidence[] {
  const from = stuck.calledFrom ? `, called from ${stuck.calledFrom}` : '';
  const entered = `${namedRanks(stuck.waiting)} entered ${collectiveName(stuck)}${from}`;
  return [
    line(entered, stuck.waiting[0]!),
    ...stuck.missing.slice(0, MAX_MISSING).map(({ rank, last }) => {
      const where = last?.calledFrom ? ` (${last.calledFrom})` : '';
      const what = last
        ? `last entered ${last.name.replace(/^\w+:/, '')} #${last.sequence}${where}`
        : 'entered none of this group';
      return line(`rank ${rank} ${what}`, rank);
    }),
  ];
}

const line = (text: string, rank: number): Evidence => ({
  text,
  value: null,
  unit: null,
  rank,
  step: null,
  ts_ns: null,
  dur_ns: null,
});

function remedyOf({ missing, unknown, different }: StuckCollective, job: Job): Use {
  if (different.length > 0) return use('same-branch', { job });
  if (missing.length > 0) return use('dump-missing', { job, ranks: missing.map((m) => m.rank) });
  if (unknown.length > 0) return use('dump-missing', { job, ranks: unknown, mayBeGone: true });
  return use('ask-network', { job });
}
