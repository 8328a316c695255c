import { divergenceWords } from '../../answers/kit/compile-words.js';
import { about, use } from '../../remedies/remedies.js';
import { evidenceOf } from '../kit/evidence.js';
import { found, type RunRule, silent } from '../kit/rule.js';

export const rule: RunRule = {
  reads: 'run',
  unpriced: 'allowed',
  comesFirst: true,
  info: {
    id: 'compiled-collectives',
    alias: 'T21',
    title: 'Compiled code of some ranks calls other collectives',
    needs: 'the logs of all ranks of a job under TORCH_TRACE',
    looksFor: 'A function whose compiled code runs other collectives on some ranks, or in another order.',
    why: 'A collective ends when all members are in it. Ranks that call different ones wait for each other until the timeout ends the job.',
    ...about('same-branch'),
    thresholds: [],
  },
  check({ evidence: { compiling }, job }) {
    const diverging = compiling?.diverging ?? [];
    const [first] = diverging;
    if (!first) return silent('no logs of several ranks show different collectives');
    return found({
      id: 'different-collectives',
      title: `ranks run different collectives in ${first.name}`,
      confidence: 0.85,
      addresses: 'comms',
      evidence: diverging.map((one) => evidenceOf(one.calls[0]?.ranks[0] ?? null, divergenceWords(one))),
      price: null,
      ranks: first.calls.flatMap(({ ranks }) => ranks).toSorted((a, b) => a - b),
      remedy: use('same-branch', { job }),
    });
  },
};
