import { slowGpuWords } from '../../answers/kit/clock-words.js';
import { describeRanks } from '../../answers/kit/late-words.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { about, type Use, use } from '../../remedies/remedies.js';
import type { LateRanks, Pattern } from '../../run/lateness/late-ranks.js';
import { LATE_SHARE, LATE_Z } from '../../run/lateness/lateness.js';
import { evidence } from '../kit/evidence.js';
import type { Evidence } from '../kit/finding.js';
import { ADDRESSES, lateEvidence, NOT_COMPARED, noneLate, priceOfDelay } from '../kit/late-ranks.js';
import { type AnyRule, found, threshold } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  servesToo: true,
  unpriced: 'allowed',
  smallGain: 'allowed',
  comesFirst: true,
  info: {
    id: 'late-rank',
    alias: 'W1',
    title: 'One rank is late and all others wait for it',
    needs: 'ranks',
    looksFor:
      'A rank whose own time (the step minus its waiting for others) exceeds the median rank’s by more than ranks usually differ: always, in spikes, periodically, together with its host or stage, or together with other late ranks.',
    why: 'Collectives end when the last member arrives: one slow rank sets everybody’s pace. Its own trace looks fast, because it waits least.',
    ...about('fix-late-rank'),
    thresholds: [
      threshold(
        'stands out',
        LATE_Z,
        'robust z',
        'Iglewicz and Hoaglin 1993; spread at least 1% of the median',
      ),
      threshold('lateness', LATE_SHARE, 'of the step', 'less is within the noise of real runs'),
    ],
  },
  check(view, run) {
    const { across } = run;
    if (!across) return NOT_COMPARED;
    const own = across.late.filter((l) => l.ranks.includes(view.rank));
    if (own.length === 0) return noneLate(across);
    return found(
      ...own.map((late) => ({
        id: `late-rank-${late.ranks.join('-').slice(0, 40)}` as const,
        title: `${describeRanks(late)} ${late.ranks.length > 1 ? 'are' : 'is'} late ${OFTEN[late.pattern]}`,
        confidence: late.confidence,
        addresses: ADDRESSES[late.cause],
        evidence: [lateEvidence(view, late), ...clockEvidence(view, late)],
        price: priceOfDelay(view, late),
        remedy: remedyOf(late, run),
      })),
    );
  },
};

const OFTEN: Readonly<Record<Pattern, string>> = {
  persistent: 'in every step',
  spike: 'in single steps',
  periodic: 'every few steps',
  rotating: '',
  host: 'in every step',
  stage: 'in every step',
};

function clockEvidence(view: RankView, { slowGpu, ranks }: LateRanks): Evidence[] {
  if (!slowGpu) return [];
  return [evidence(view, slowGpuWords(slowGpu, ranks.length), Math.round(slowGpu.clock), 'MHz')];
}

/** The GPU, the link, or whatever else the late ranks were doing. */
function remedyOf({ slowGpu, cause, ranks, phase }: LateRanks, { ranks: views, job }: RunFacts): Use {
  if (slowGpu) return use('unthrottle', { ofRank: true });
  if (cause === 'link') return use('test-links', { ofRanks: true });
  const traced = views.some((view) => view.source === 'trace' && ranks.includes(view.rank));
  return use('fix-late-rank', { ranks, cause, phase: phase?.name ?? null, traced, job });
}
