import { about, use } from '../../remedies/remedies.js';
import { ADDRESSES, lateEvidence, NOT_COMPARED, noneLate, priceOfDelay } from '../kit/late-ranks.js';
import { type AnyRule, found } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  servesToo: true,
  unpriced: 'allowed',
  smallGain: 'allowed',
  comesFirst: true,
  info: {
    id: 'rotating-imbalance',
    alias: 'W1',
    title: 'A different rank is late each step: the work is uneven',
    needs: 'ranks',
    looksFor: 'Ranks that wait for each other in turn: a different one is last in each step.',
    why: 'Collectives end when the last member arrives. If batches differ in length, or experts in load, some rank is always late.',
    ...about('balance-ranks'),
    thresholds: [],
  },
  check(view, { across, ranks, job }) {
    if (!across) return NOT_COMPARED;
    // It concerns all ranks: the first one reports it.
    const rotations = view === ranks[0] ? across.late.filter((l) => l.ranks.length === 0) : [];
    if (rotations.length === 0) return noneLate(across);
    return found(
      ...rotations.map((late) => ({
        id: 'rotating-imbalance' as const,
        title: 'a different rank is late each step: the work is uneven',
        confidence: late.confidence,
        addresses: ADDRESSES[late.cause],
        evidence: [lateEvidence(view, late)],
        price: priceOfDelay(view, late),
        remedy: use('balance-ranks', { job }),
      })),
    );
  },
};
