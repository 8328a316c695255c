import { quoted } from '../../base/shell.js';
import type { JobWords } from '../../diagnosis/job-words.js';

/** Commands of other profilers, for the job at hand. */

/** nsys follows all ranks that the command starts. Bounded: it waits for the warm-up, then records for a while. */
export const nsysCommand = ({ command }: JobWords): string =>
  `nsys profile --trace=cuda,nvtx,osrt --delay=60 --duration=20 -o nsys_%p \\
    ${command}
for f in nsys_*.nsys-rep; do nsys export --type sqlite "$f"; done
whyslow diagnose nsys_*.sqlite`;

/** Replays each of a few launches of one kernel many times, so it is bounded by their number. */
export function ncuCommand({ command }: JobWords, kernel: string): string {
  return `ncu --target-processes all --launch-skip 20 --launch-count 5 --set full \\
    --kernel-name ${quoted(`regex:${functionName(kernel)}`)} --export hot-kernel \\
    ${command}
ncu --import hot-kernel.ncu-rep      # what limits it`;
}

/** `void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, …>(…)` → `cunn_SoftMaxForward`. */
export function functionName(kernel: string): string {
  const plain = kernel.replaceAll('(anonymous namespace)::', '').split(/[<(]/, 1)[0]!;
  return /(?:^|[\s:])(\w+)\s*$/.exec(plain)?.[1] ?? '.*';
}

const MOST_RANKS = 4;

/** Dumps the stacks of these ranks twice: by their processes where they are known, else by whyslow, which finds them. */
export function dumpCommands({ processes }: JobWords, ranks: readonly number[]): string {
  const known = ranks.flatMap((rank) => {
    const process = processes.get(rank);
    return process ? [{ rank, ...process }] : [];
  });
  if (known.length === 0) {
    const whose =
      ranks.length === 0 ? '' : `      # on the machine of rank ${ranks.slice(0, MOST_RANKS).join(', ')}`;
    return `whyslow triage --stacks${whose}`;
  }
  return known
    .slice(0, MOST_RANKS)
    .map(({ rank, pid, host }) => {
      const dump = `py-spy dump --pid ${pid}`;
      const on = host === null ? '' : ` on ${host}`;
      return `# rank ${rank}${on}\nfor i in a b; do ${dump} > rank${rank}-$i.txt; sleep 5; done`;
    })
    .concat(
      `whyslow diagnose ${known
        .slice(0, MOST_RANKS)
        .map(({ rank }) => `rank${rank}-?.txt`)
        .join(' ')}`,
    )
    .join('\n');
}

/** Starts the job so that it writes down its collectives when one of them times out. */
export const flightRecorderCommand = ({ command }: JobWords): string =>
  `export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1
export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=$PWD/nccl_trace_rank_
${command}`;
