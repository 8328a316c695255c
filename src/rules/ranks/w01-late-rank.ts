import { ns } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { Bottleneck } from '../../diagnosis/verdict/bottleneck.js';
import { CAUSE_WORDS, describeRanks } from '../../diagnosis/words/late-ranks.js';
import { slowGpuWords } from '../../diagnosis/words/slow-gpu.js';
import type { Cause, LateRanks } from '../../run/lateness/late-ranks.js';
import type { Evidence, Finding } from '../kit/finding.js';
import { count, evidence, inMs, ms, silent } from '../kit/kit.js';
import type { AnyRule, Price, RankFinding } from '../kit/rule.js';

export const lateRank: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'W1',
    title: 'One rank is late and all others wait for it',
    needs: 'ranks',
    looksFor:
      'A rank whose own time (the step less its waiting for others) exceeds the median rank’s by more than ranks differ anyway: always, in spikes, periodically, together with its host or stage, or with other ranks that are late alike. Or another rank each step (rotating).',
    why: 'Collectives end when the last member arrives: one slow rank sets everybody’s pace. Its own trace looks fast, because it waits least.',
    fix: {
      text: 'Mend the cause on that rank: its own findings say how. When the work itself is uneven (rotating), balance it: bucket by length, spread experts.',
      code: 'whyslow diagnose RUN --ranks <the late one> --all',
    },
    check: 'Compare the step of all ranks before and after; another rank may be next.',
    cost: 'code',
    risk: 'none',
    thresholds: [
      {
        name: 'stands out',
        value: 3.5,
        unit: 'robust z',
        source: 'Iglewicz and Hoaglin 1993; spread at least 1 % of the median',
      },
      { name: 'lateness', value: 0.05, unit: 'of the step', source: 'less is within the noise of real runs' },
    ],
  },
  check(view, run) {
    if (!run.across) return silent('one rank only, or none that share a collective');
    const own = run.across.late.filter((l) => speaks(l, view, run.ranks[0]!));
    if (own.length === 0) return silent('no rank stands out');
    return { findings: own.map((late) => findingOf(view, late, run.across!.step)) };
  },
};

/** A rotation is told once. */
function speaks(late: LateRanks, view: RankView, first: RankView): boolean {
  return late.ranks.length === 0 ? view === first : late.ranks.includes(view.rank);
}

const ADDRESSES: Readonly<Record<Cause, Bottleneck>> = {
  ...{ data: 'data', gpu: 'gpu', compile: 'host', host: 'host', link: 'comms', unknown: 'host' },
};

function findingOf(view: RankView, late: LateRanks, step: number): RankFinding {
  return {
    id: late.ranks.length === 0 ? 'rotating-imbalance' : `late-rank-${late.ranks.join('-').slice(0, 40)}`,
    title: titleOf(late),
    confidence: late.confidence,
    addresses: ADDRESSES[late.cause],
    evidence: [
      evidence(
        view,
        `${describeRanks(late)}: ${ms(late.cost)} a step later than the next, in ${count(late.steps.length, 'step')}; most of it is ${CAUSE_WORDS[late.cause]}`,
        inMs(late.cost),
        'ms/step',
      ),
      ...clocksOf(view, late),
    ],
    price: priceOf(step, late.cost),
    ...(late.slowGpu ? { cost: 'hardware', fix: SLOW_GPU } : { fix: fixOf(late) }),
  };
}

function fixOf({ ranks }: LateRanks): Finding['fix'] {
  if (ranks.length === 0)
    return {
      text: 'Balance the work of the ranks: batches of like length (bucket by length, or by tokens), experts spread by load.',
      code: 'whyslow diagnose RUN --all',
    };
  const chosen = ranks.slice(0, MOST_NAMED).join(',');
  const whose = ranks.length === 1 ? `rank ${chosen}` : 'those ranks';
  return {
    text: `Mend the cause on ${whose}; findings of ${ranks.length === 1 ? 'its' : 'their'} own say how.`,
    code: `whyslow diagnose RUN --ranks ${chosen} --all`,
  };
}

const MOST_NAMED = 8;

function clocksOf(view: RankView, { slowGpu, ranks }: LateRanks): Evidence[] {
  if (!slowGpu) return [];
  return [evidence(view, slowGpuWords(slowGpu, ranks.length), Math.round(slowGpu.clock), 'MHz')];
}

const SLOW_GPU = {
  text: 'Look at that GPU on its host: heat, power limit, locked clocks. Cool it, reset it, or leave the host out.',
  code: 'nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE',
};

/** All ranks take the step without the delay. */
function priceOf(step: number, cost: number): Price | null {
  if (!(cost < 0.9 * step)) return null;
  const gain = (part: number) => step / (step - part * cost);
  return {
    speedup: { low: gain(0.7), likely: gain(1), high: gain(Math.min(1.2, (0.95 * step) / cost)) },
    after: ns(step - cost),
    edit: null,
    floor: ns(0),
  };
}

function titleOf(late: LateRanks): string {
  const often = {
    persistent: 'every step',
    spike: 'in single steps',
    periodic: 'every few steps',
    rotating: '',
    host: 'every step',
    stage: 'every step',
  };
  return late.ranks.length === 0
    ? 'each step another rank is late: the work is uneven'
    : `${describeRanks(late)} ${late.ranks.length > 1 ? 'come' : 'comes'} late ${often[late.pattern]}`;
}
