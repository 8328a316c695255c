import { quoted } from '../../base/printable.js';
import { type Job, UNKNOWN_JOB } from '../kit/job.js';
import { NONE, remedy } from '../kit/remedy.js';

/** Better measurements: traces, other profilers, a look from outside. */

export interface Record {
  readonly job: Job;
  /** Too short for a profiler window. */
  readonly tooShort?: boolean;
  /** vLLM or SGLang was recorded: requests start and stop its profiler. */
  readonly ownProfiler?: boolean;
  /** No job is known: also how to do it by hand. */
  readonly byHand?: boolean;
}

const BY_HAND = [
  'whyslow capture OUT --steps 3   # of a job that whyslow run has started',
  '# or by hand:',
  'from torch.profiler import profile, schedule, ProfilerActivity',
  'done = lambda p: p.export_chrome_trace("trace.json")',
  'with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],',
  '             schedule=schedule(wait=5, warmup=3, active=6, repeat=1),',
  '             on_trace_ready=done) as p:',
  '    for batch in loader:',
  '        train_step(batch)',
  '        p.step()',
];

/** Addresses of vLLM and SGLang. Where their traces go is an environment variable of the server. */
const BY_ENGINE = [
  'export VLLM_TORCH_PROFILER_DIR=traces    # SGLANG_TORCH_PROFILER_DIR',
  'curl -X POST localhost:8000/start_profile   # while requests run',
  'curl -X POST localhost:8000/stop_profile',
];

export const recordTrace = remedy({
  id: 'record-trace',
  title: 'a trace of a few steps after warm-up',
  cost: 'free',
  risk: 'none',
  check: 'Results do not change; training runs about 1.5× slower while recording.',
  text: ({ tooShort, byHand, ownProfiler }: Record) => {
    if (ownProfiler)
      return 'Record several requests, after the first ones, with the engine’s own profiler: its steps have names. Without stacks and shapes it slows the engine less.';
    if (byHand) return 'Record a few steps after warm-up, with CPU and CUDA activity and every step marked.';
    return tooShort
      ? 'The job was too short for a profiler window: let it run for at least 30 steps, or shorten the window with --trace-active 3.'
      : 'It records a few steps after warm-up. `whyslow rules T19` shows how to do it by hand.';
  },
  plain: ({ job, byHand, ownProfiler }) => ({
    lines: ownProfiler ? BY_ENGINE : [`whyslow run --trace -- ${job.command}`, ...(byHand ? BY_HAND : [])],
  }),
  usual: { job: UNKNOWN_JOB, byHand: true },
});

export interface SlowStep {
  readonly job: Job;
}

export const watchRun = remedy({
  id: 'watch-run',
  title: 'the step times of the whole run',
  cost: 'code',
  risk: 'none',
  check: 'Nothing in the training changes.',
  text: 'Record more steps, or the events of the whole run. If it comes back, look at what runs there.',
  plain: ({ job }: SlowStep) => ({
    lines: [`whyslow run -- ${job.command}`, 'py-spy dump --pid <training process>   # during a slow step'],
  }),
  usual: { job: UNKNOWN_JOB },
});

export interface Nsight {
  readonly job: Job;
  /** The kernel that Nsight Compute should look at. */
  readonly kernel?: string;
  readonly tool: 'systems' | 'compute' | 'both';
  /** An AMD GPU: ROCm's tools instead. */
  readonly isRocm?: boolean;
}

export const nsight = remedy({
  id: 'nsight',
  title: 'what Nsight shows',
  cost: 'free',
  risk: 'none',
  check: 'Results do not change. Training runs slower while recording, and far slower with Nsight Compute.',
  text: ({ tool, isRocm }: Nsight) =>
    ({
      compute: `It replays ${isRocm ? 'the kernel' : 'five launches'} and reports whether memory, arithmetic or latency limits them. A kernel at its memory limit gets faster only by fusing it with its neighbors.`,
      systems: isRocm
        ? 'It records all calls of HIP and HSA next to the kernels. Open the result in ui.perfetto.dev.'
        : 'It records twenty seconds with calls of the operating system: reads, locks, polls.',
      both: 'Record a bounded part of the job. `whyslow diagnose` reads what nsys exports as SQLite.',
    })[tool],
  plain: ({ job, kernel = 'KERNEL', tool, isRocm }) => ({
    lines: [
      ...(tool === 'compute' ? [] : isRocm ? rocprofCommand(job) : nsysCommand(job)),
      ...(tool === 'systems' ? [] : isRocm ? rocprofComputeCommand(job, kernel) : ncuCommand(job, kernel)),
    ],
  }),
  usual: { job: UNKNOWN_JOB, tool: 'both' },
});

/** nsys follows all ranks that the command starts. Bounded: it waits for the warm-up, then records for a while. */
const nsysCommand = ({ command }: Job): string[] => [
  'nsys profile --trace=cuda,nvtx,osrt --delay=60 --duration=20 -o nsys_%p \\',
  `    ${command}`,
  'for f in nsys_*.nsys-rep; do nsys export --type sqlite "$f"; done',
  'whyslow diagnose nsys_*.sqlite',
];

/** Replays each of a few launches of one kernel many times, so it is bounded by their number. */
const ncuCommand = ({ command }: Job, kernel: string): string[] => [
  'ncu --target-processes all --launch-skip 20 --launch-count 5 --set full \\',
  `    --kernel-name ${quoted(`regex:${functionName(kernel)}`)} --export hot-kernel \\`,
  `    ${command}`,
  'ncu --import hot-kernel.ncu-rep      # what limits it',
];

const rocprofCommand = ({ command }: Job): string[] => [
  'rocprofv3 --sys-trace --output-format pftrace -d rocprof -- \\',
  `    ${command}`,
];

const rocprofComputeCommand = ({ command }: Job, kernel: string): string[] => [
  `rocprof-compute profile -n hot-kernel -k ${quoted(functionName(kernel))} -- \\`,
  `    ${command}`,
  'rocprof-compute analyze -p workloads/hot-kernel/*      # what limits it',
];

/** `void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, …>(…)` → `cunn_SoftMaxForward`. */
export function functionName(kernel: string): string {
  const plain = kernel.replaceAll('(anonymous namespace)::', '').split(/[<(]/, 1)[0]!;
  return /(?:^|[\s:])(\w+)\s*$/.exec(plain)?.[1] ?? '.*';
}

export const stepBreakdown = remedy({
  id: 'step-breakdown',
  title: 'the step breakdown instead of utilization',
  cost: 'free',
  risk: 'none',
  check: 'Nothing in the training changes.',
  text: 'Look at the step breakdown, not at utilization: a kernel that waits for another rank, or a trickle of small ones, counts as busy.',
  plain: { lines: ['whyslow diagnose RUN --all'] },
  usual: NONE,
});

export const lookFromOutside = remedy({
  id: 'look-from-outside',
  title: 'a look at the running job',
  cost: null,
  risk: 'none',
  check: 'Nothing in the training changes.',
  text: 'Watch the job from outside, then measure what it names. If there are more threads than cores, cap OMP_NUM_THREADS at the quota of the container; do not add workers.',
  plain: { lines: ['whyslow triage', 'whyslow triage --pid PID --stacks      # what each rank is doing'] },
  usual: NONE,
});
