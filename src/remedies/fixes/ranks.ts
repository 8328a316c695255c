import { type Job, UNKNOWN_JOB } from '../kit/job.js';
import { NONE, remedy } from '../kit/remedy.js';

/** Fixes of ranks that hold up the others, and of the links and GPUs below them. */

/** What late ranks were doing. */
export type LateCause = 'data' | 'gpu' | 'host' | 'compile' | 'link' | 'unknown';

export interface Late {
  readonly ranks: readonly number[];
  readonly cause: LateCause;
  /** A phase that the job named. */
  readonly phase: string | null;
  /** A trace of a late rank was read. */
  readonly traced: boolean;
  readonly job: Job;
}

const MOST_NAMED = 8;

/** What to look at first, by what the late ranks were doing. */
const LOOK_AT: Readonly<Record<LateCause, (whom: string) => string>> = {
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

export const fixLateRank = remedy({
  id: 'fix-late-rank',
  title: 'the cause removed on the late rank',
  cost: 'code',
  risk: 'none',
  check: 'Compare the step of all ranks before and after; another rank may be next.',
  text: ({ ranks, cause, phase, traced }: Late) => {
    if (ranks.length === 0)
      return 'Fix the cause on that rank: its own findings say how. If there is no trace of it, record one.';
    const whom = ranks.length === 1 ? `rank ${ranks[0]}` : 'those ranks';
    const where = phase && `Look at what ${whom} ${ranks.length > 1 ? 'do' : 'does'} in the phase ${phase}.`;
    if (traced) return `${where ?? LOOK_AT[cause](whom)} The findings of ${whom} alone say more.`;
    return `${where ?? `Fix the cause on ${whom}.`} For details, record a trace of the running job or of the next run.`;
  },
  plain: ({ ranks, traced, job }) => {
    const chosen = ranks.length === 0 ? '<the late one>' : ranks.slice(0, MOST_NAMED).join(',');
    const look = `whyslow diagnose ${job.folder} --ranks ${chosen} --all`;
    const record = `whyslow capture ${job.folder} --ranks ${chosen}`;
    if (ranks.length === 0) return { lines: [look, record] };
    return {
      lines: traced ? [look] : [record, `whyslow run --trace-ranks ${chosen} -- ${job.command}`],
    };
  },
  usual: { ranks: [], cause: 'unknown', phase: null, traced: false, job: UNKNOWN_JOB },
});

export interface Links {
  /** The links of late ranks, not of a group. */
  readonly ofRanks?: boolean;
}

const PERF = 'all_reduce_perf -b 8M -e 1G -f 2 -g 8      # nccl-tests';

export const testLinks = remedy({
  id: 'test-links',
  title: 'a healthy link between the machines',
  cost: 'hardware',
  risk: 'none',
  check: 'Nothing in the training changes.',
  text: ({ ofRanks }: Links) =>
    `Test the links between the ${ofRanks ? 'machines of those ranks' : 'hosts named'}, exclude the bad one, and compare.`,
  plain: ({ ofRanks }) => ({
    lines: ofRanks
      ? ['nvidia-smi nvlink -e; ibstat; dmesg | grep -i -E "nvlink|mlx|xid"      # on each', PERF]
      : [`${PERF}, host by host`, 'nvidia-smi nvlink -e; ibstat; dmesg | grep -i -E "nvlink|mlx|xid"'],
  }),
  usual: {},
});

export interface Slow {
  /** One GPU is slower than those of the other ranks. */
  readonly ofRank?: boolean;
}

const SHOW_CLOCKS = 'nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE';

export const unthrottle = remedy({
  id: 'unthrottle',
  title: 'a GPU at its full clock',
  cost: 'hardware',
  risk: 'none',
  check: 'Nothing in the training changes. Compare step times before and after.',
  text: ({ ofRank }: Slow) =>
    ofRank
      ? 'Look at that GPU on its host: heat, power limit, locked clocks. Cool it, reset it, or leave the host out.'
      : 'Find out what holds the clock down: heat, a lowered power limit, locked clocks. Cool the GPU, raise the limit, or leave the machine out.',
  plain: ({ ofRank }) => ({
    lines: ofRank ? [SHOW_CLOCKS] : [SHOW_CLOCKS, 'nvidia-smi dmon -s pucvt -d 1      # while the job runs'],
  }),
  usual: {},
});

export interface Balance {
  readonly job: Job;
}

export const balanceRanks = remedy({
  id: 'balance-ranks',
  title: 'even work for all ranks',
  cost: 'code',
  risk: 'none',
  check: 'Bucketing by length changes the order of samples: compare the loss curve of a few hundred steps.',
  text: 'Balance the work of the ranks: batches of similar length (bucket by length, or by tokens), experts spread by load.',
  plain: ({ job }: Balance) => ({ lines: [`whyslow diagnose ${job.folder} --all`] }),
  usual: { job: UNKNOWN_JOB },
});

export const sameBranch = remedy({
  id: 'same-branch',
  title: 'all ranks call the same collectives',
  cost: 'code',
  risk: 'none',
  check: 'The next dump of a run that goes on shows higher numbers on every rank.',
  text: 'Make all ranks take the same branch: a condition on data or on the rank decides which collective they call.',
  plain: ({ job }: Balance) => ({
    lines: ['export TORCH_DISTRIBUTED_DEBUG=DETAIL      # checks every collective', job.command],
  }),
  usual: { job: UNKNOWN_JOB },
});

export const askNetwork = remedy({
  id: 'ask-network',
  title: 'what NCCL and the driver report',
  cost: 'code',
  risk: 'none',
  check: 'Nothing in the training changes.',
  text: 'If the job makes no progress, the network or a GPU is stuck: see what NCCL and the driver report.',
  plain: ({ job }: Balance) => ({ lines: [`NCCL_DEBUG=INFO ${job.command}`, 'dmesg | grep -i xid'] }),
  usual: { job: UNKNOWN_JOB },
});

export const firstBottleneck = remedy({
  id: 'first-bottleneck',
  title: 'the largest bottleneck first',
  cost: null,
  risk: 'none',
  check: 'Compare step times without the profiler before and after.',
  text: 'Fix what is named first, measure again, then fix the next.',
  plain: { lines: ['whyslow diagnose TRACE_OR_DIRECTORY'] },
  usual: NONE,
});
