import { describe, expect, it } from 'vitest';
import type { Job } from '../kit/job.js';
import { UNKNOWN_JOB } from '../kit/job.js';
import { advise, use } from '../remedies.js';
import { functionName } from './recordings.js';

const dumpCommands = (job: Job, ranks: readonly number[]) =>
  advise(use('dump-missing', { job, ranks })).fix.code;
const nsight = (tool: 'systems' | 'compute', kernel: string) =>
  advise(use('nsight', { job: JOB, tool, kernel })).fix.code;

const JOB = {
  command: 'torchrun --nproc-per-node 2 train.py',
  folder: 'OUT',
  processes: new Map([
    [0, { pid: 10, host: 'node-1' }],
    [2, { pid: 20, host: null }],
  ]),
};

describe('commands of other profilers', () => {
  it.each([
    [
      'void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float*, int)',
      'cunn_SoftMaxForward',
    ],
    ['triton_poi_fused_add_0', 'triton_poi_fused_add_0'],
    ['sm90_xmma_gemm_bf16bf16', 'sm90_xmma_gemm_bf16bf16'],
    ["x'; rm -rf / #", '.*'],
    ['<<<', '.*'],
  ])('name a kernel as Nsight Compute does: %s', (kernel, name) => expect(functionName(kernel)).toBe(name));

  it('are for the job at hand', () => {
    expect(nsight('systems', '')).toContain('-o nsys_%p \\\n    torchrun --nproc-per-node 2 train.py\n');
    const ncu = nsight('compute', 'void my_kernel<3>(float*)');
    expect(ncu).toMatch(/^ncu .*\n.*--kernel-name regex:my_kernel /);
    expect(ncu).toContain('torchrun --nproc-per-node 2 train.py');
  });

  it('dump the processes of ranks, if they are known', () => {
    expect(dumpCommands(JOB, [0, 1, 2])).toBe(
      `# rank 0 on node-1
for i in a b; do py-spy dump --pid 10 > rank0-$i.txt; sleep 5; done
# rank 2
for i in a b; do py-spy dump --pid 20 > rank2-$i.txt; sleep 5; done
whyslow diagnose rank0-?.txt rank2-?.txt`,
    );
    expect(dumpCommands(UNKNOWN_JOB, [3])).toBe('whyslow triage --stacks      # on the machine of rank 3');
    expect(dumpCommands(UNKNOWN_JOB, [])).toBe('whyslow triage --stacks');
  });
});
