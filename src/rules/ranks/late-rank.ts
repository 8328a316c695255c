import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { describeRanks } from '../../diagnosis/words/late-ranks.js';
import { slowGpuWords } from '../../diagnosis/words/slow-gpu.js';
import type { Cause, LateRanks, Pattern } from '../../run/lateness/late-ranks.js';
import { LATE_SHARE, LATE_Z } from '../../run/lateness/lateness.js';
import { evidence } from '../kit/evidence.js';
import type { Evidence, Finding } from '../kit/finding.js';
import { ADDRESSES, lateEvidence, NOT_COMPARED, noneLate, priceOfDelay } from '../kit/late-ranks.js';
import { type AnyRule, found, threshold } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  smallGain: 'allowed',
  comesFirst: true,
  info: {
    id: 'late-rank',
    alias: 'W1',
    title: 'One rank is late and all others wait for it',
    needs: 'ranks',
    looksFor:
      'A rank whose own time (the step less its waiting for others) exceeds the median rank’s by more than ranks usually differ: always, in spikes, periodically, together with its host or stage, or together with other late ranks.',
    why: 'Collectives end when the last member arrives: one slow rank sets everybody’s pace. Its own trace looks fast, because it waits least.',
    fix: {
      text: 'Fix the cause on that rank: its own findings say how. Without a trace of it, record one.',
      code: 'whyslow diagnose OUT --ranks <the late one> --all\nwhyslow capture OUT --ranks <the late one>',
    },
    check: 'Compare the step of all ranks before and after; another rank may be next.',
    cost: 'code',
    risk: 'none',
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
        id: `late-rank-${late.ranks.join('-').slice(0, 40)}`,
        title: `${describeRanks(late)} ${late.ranks.length > 1 ? 'are' : 'is'} late ${OFTEN[late.pattern]}`,
        confidence: late.confidence,
        addresses: ADDRESSES[late.cause],
        evidence: [lateEvidence(view, late), ...clockEvidence(view, late)],
        price: priceOfDelay(view, late),
        ...(late.slowGpu ? SLOW_GPU : late.cause === 'link' ? SLOW_LINK : { fix: fixOf(late, run) }),
      })),
    );
  },
};

const OFTEN: Readonly<Record<Pattern, string>> = {
  persistent: 'every step',
  spike: 'in single steps',
  periodic: 'every few steps',
  rotating: '',
  host: 'every step',
  stage: 'every step',
};

function clockEvidence(view: RankView, { slowGpu, ranks }: LateRanks): Evidence[] {
  if (!slowGpu) return [];
  return [evidence(view, slowGpuWords(slowGpu, ranks.length), Math.round(slowGpu.clock), 'MHz')];
}

const MOST_NAMED = 8;

/** Its own findings say what holds it up, if there is a trace of it. Otherwise the commands that record one. */
function fixOf({ ranks, cause, phase }: LateRanks, { ranks: views, job }: RunFacts): Finding['fix'] {
  const chosen = ranks.slice(0, MOST_NAMED).join(',');
  const whom = ranks.length === 1 ? `rank ${chosen}` : 'those ranks';
  const where =
    phase && `Look at what ${whom} ${ranks.length > 1 ? 'do' : 'does'} in the phase ${phase.name}.`;
  if (views.some((view) => view.source === 'trace' && ranks.includes(view.rank)))
    return {
      text: `${where ?? LOOK_AT[cause](whom)} The findings of ${whom} alone say more.`,
      code: `whyslow diagnose ${job.folder} --ranks ${chosen} --all`,
    };
  return {
    text: where
      ? `${where} A trace shows more, of the running job or of the next run.`
      : `Fix the cause on ${whom}. A trace shows it, of the running job or of the next run.`,
    code: `whyslow capture ${job.folder} --ranks ${chosen}\nwhyslow run --trace-ranks ${chosen} -- ${job.command}`,
  };
}

/** Where to look first, by what the late ranks were doing. */
const LOOK_AT: Readonly<Record<Cause, (whom: string) => string>> = {
  data: (whom) =>
    `Look at the input of ${whom}: is its share of the data larger, its disk slower, or are its cores taken by others?`,
  gpu: (whom) =>
    `Compare the work of ${whom} with the others': batch and sequence lengths, uneven layers or experts, and the GPU's clock.`,
  host: (whom) =>
    `Look for what only ${whom} does (logging, saving, checks), and at its host: other processes, a CPU limit, NUMA binding.`,
  compile: (whom) => `Give ${whom} the same shapes as the others, or compile before the first step.`,
  link: (whom) => `Test the links of ${whom}.`,
  unknown: (whom) => `Find what ${whom} does that the others do not.`,
};

const SLOW_LINK = {
  cost: 'hardware',
  fix: {
    text: 'Test the links between the machines of those ranks, exclude the bad one, and compare.',
    code: 'nvidia-smi nvlink -e; ibstat; dmesg | grep -i -E "nvlink|mlx|xid"      # on each\nall_reduce_perf -b 8M -e 1G -f 2 -g 8      # nccl-tests',
  },
} as const;

const SLOW_GPU = {
  cost: 'hardware',
  fix: {
    text: 'Look at that GPU on its host: heat, power limit, locked clocks. Cool it, reset it, or leave the host out.',
    code: 'nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE',
  },
} as const;
