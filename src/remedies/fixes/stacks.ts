import { type Job, UNKNOWN_JOB } from '../kit/job.js';
import { remedy, type Spelled } from '../kit/remedy.js';

/** Stack dumps of ranks that hang, and the flight recorder for the next run. */

const MOST_RANKS = 4;

/** Dumps the stacks of these ranks twice: by their processes if they are known, otherwise by whyslow, which finds them. */
function dumpCommands({ processes }: Job, ranks: readonly number[]): string[] {
  const known = ranks
    .flatMap((rank) => {
      const process = processes.get(rank);
      return process ? [{ rank, ...process }] : [];
    })
    .slice(0, MOST_RANKS);
  if (known.length === 0) {
    const whose =
      ranks.length === 0
        ? ''
        : `      # on the machine of ${ranks.length > 1 ? 'ranks' : 'rank'} ${ranks.slice(0, MOST_RANKS).join(', ')}`;
    return [`whyslow triage --stacks${whose}`];
  }
  return [
    ...known.flatMap(({ rank, pid, host }) => [
      `# rank ${rank}${host === null ? '' : ` on ${host}`}`,
      `for i in a b; do py-spy dump --pid ${pid} > rank${rank}-$i.txt; sleep 5; done`,
    ]),
    `whyslow diagnose ${known.map(({ rank }) => `rank${rank}-?.txt`).join(' ')}`,
  ];
}

/** Starts the job so that it writes down its collectives when one of them times out. */
const flightRecorder = ({ command }: Job): string[] => [
  'export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1',
  'export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=$PWD/nccl_trace_rank_',
  command,
];

export interface Dump {
  readonly job: Job;
  /** Ranks to dump. */
  readonly ranks: readonly number[];
  /** Some of them may have ended. */
  readonly mayBeGone?: boolean;
}

export const dumpMissing = remedy({
  id: 'dump-missing',
  title: 'the stack of the missing rank',
  cost: 'code',
  risk: 'none',
  check: 'The next dump of a run that goes on shows higher numbers on every rank.',
  text: ({ mayBeGone }: Dump) =>
    mayBeGone
      ? 'See whether the process of that rank still runs. If it does, dump its stack; if not, its log has the reason.'
      : 'Look at what the missing rank does: its stack shows where it is stuck.',
  plain: ({ job, ranks }) => ({ lines: dumpCommands(job, ranks) }),
  usual: { job: UNKNOWN_JOB, ranks: [] },
});

export interface Stacks extends Dump {
  /** What the process does. */
  readonly doing: string;
  readonly pid: number | null;
}

const TEXTS: Readonly<Record<string, string>> = {
  'input-wait':
    'The workers are too slow or stuck: see what they do, then give the loader more of them or make each batch cheaper.',
  'input-work': 'Batches are made on the training thread. Let workers make them.',
  collective:
    'Another rank is late or gone: dump the stacks of all ranks and look for the one that is not in this collective. The flight recorder names it at the next hang.',
};

export const readStacks = remedy({
  id: 'read-stacks',
  title: 'two stack dumps of every rank',
  cost: 'code',
  risk: 'none',
  check: 'py-spy only reads the memory of the process; it changes nothing.',
  text: ({ doing }: Stacks) =>
    TEXTS[doing] ??
    'Dump every rank twice, a few seconds apart, and pass all files. A stack that does not move is stuck.',
  plain: ({ doing, pid, job, ranks }): Spelled => {
    const process = pid === null ? '' : ` --pid ${pid}`;
    const workers = { DataLoader: { num_workers: 8, persistent_workers: true } };
    if (doing === 'input-work') return { set: workers };
    if (doing === 'input-wait')
      return { before: [`whyslow triage${process}      # what the workers do`], set: workers };
    if (doing === 'collective') return { lines: [...dumpCommands(job, ranks), ...flightRecorder(job)] };
    if (doing === '')
      return {
        lines: [
          'whyslow triage --stacks      # finds the job and its ranks',
          'py-spy dump --pid $(pgrep -of train.py) > rank0-a.txt      # to keep',
        ],
      };
    return { lines: [`whyslow triage --stacks${process}`] };
  },
  usual: { doing: '', pid: null, job: UNKNOWN_JOB, ranks: [] },
});
