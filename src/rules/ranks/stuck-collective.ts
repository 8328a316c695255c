import { callName, certaintyOf, culpritInWords, whoIsMissing } from '../../answers/kit/hang-words.js';
import { processName, stateInWords } from '../../answers/kit/stack-words.js';
import { namedRanks } from '../../base/rank-ranges.js';
import type { DumpedCall, Hang, WaitingRanks } from '../../diagnosis/hang/hang.js';
import type { ProcessStacks } from '../../diagnosis/hang/process-stacks.js';
import type { Job } from '../../remedies/kit/job.js';
import { about, type Use, use } from '../../remedies/remedies.js';
import { evidenceOf } from '../kit/evidence.js';
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
    needs: 'dumps of torch’s flight recorder, one per rank',
    looksFor:
      'Calls that some ranks entered and did not leave: who is not in them, or in another one, following ranks that wait to the ones that do not.',
    why: 'A collective ends when all members are in it. One rank that is stuck elsewhere, has died or took another branch blocks all of them until the timeout ends the job.',
    ...about('dump-missing'),
    thresholds: [],
  },
  check({ evidence: { hang, stacks }, job }) {
    if (!hang) return silent('no flight-recorder dump shows a rank waiting');
    const ranks = hang.culprits.map((c) => c.rank);
    const isSeen = stacks.some(
      ({ rank, states: [state] }) =>
        ranks.includes(rank ?? -1) && state !== undefined && state.doing !== 'gone',
    );
    return found({
      id: hang.different ? 'different-collectives' : 'stuck-collective',
      title: whoIsMissing(hang, isSeen),
      confidence: certaintyOf(hang),
      addresses: 'comms',
      evidence: [
        ...hang.culprits.slice(0, MAX_LINES).map((c) => evidenceOf(c.rank, culpritInWords(c))),
        ...hang.waits.slice(0, MAX_LINES).map(waitLine),
        ...hang.inCall.slice(0, MAX_LINES).map((c) => inCallLine(c.ranks, c.call)),
        ...stacksOf(ranks, stacks),
      ],
      price: null,
      ranks: ranks.length > 0 ? ranks : [...new Set(hang.waits.flatMap((w) => w.ranks))],
      remedy: remedyOf(hang, job),
    });
  },
};

/** What the missing ranks do, if they were dumped too. */
const stacksOf = (ranks: readonly number[], stacks: readonly ProcessStacks[]): Evidence[] =>
  stacks
    .filter((s) => s.rank !== null && ranks.includes(s.rank) && s.states.length > 0)
    .slice(0, MAX_LINES)
    .map((s) => evidenceOf(s.rank, `${processName(s)} ${stateInWords(s.states[0]!)}`));

const MAX_LINES = 8;

const from = ({ calledFrom }: DumpedCall) => (calledFrom ? `, called from ${calledFrom}` : '');

function waitLine({ ranks, on, call }: WaitingRanks): Evidence {
  const wait = `${namedRanks(ranks)} ${ranks.length === 1 ? 'waits' : 'wait'} for ${namedRanks(on)}`;
  return evidenceOf(ranks[0]!, `${wait} in ${callName(call)}${from(call)}`);
}

const inCallLine = (ranks: readonly number[], call: DumpedCall) =>
  evidenceOf(ranks[0]!, `${namedRanks(ranks)} entered ${callName(call)}${from(call)}`);

function remedyOf({ culprits, different, rings }: Hang, job: Job): Use {
  const isOrder = different || rings.length > 0 || culprits.some((c) => c.reason === 'order');
  if (isOrder) return use('same-branch', { job });
  const ranks = culprits.map((c) => c.rank);
  if (ranks.length === 0) return use('ask-network', { job });
  const mayBeGone = culprits.every((c) => c.reason === 'no-dump');
  return use('dump-missing', { job, ranks, mayBeGone });
}
