import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './nsight-next.js';

const gpu = { verdict: { bottleneck: 'gpu', confidence: 0.9 } } as const;
const host = { verdict: { bottleneck: 'host', confidence: 0.9 } } as const;
const job = { command: 'torchrun train.py', folder: 'OUT', processes: new Map() };
const step = (kernel: string, until: number) => `
  host 1  ProfilerStep#1 0-10000 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-40 #2
  gpu 7   ${kernel} 100-${until} #1 | nvjet_tst_256 ${until}-9900 #2`;
const draw = (kernel: string, until: number) => drawView(steps(4, 10000, step(kernel, until)));

describe('when Nsight is the next tool', () => {
  it('names the kernel that no library has tuned, with the command for this job', () => {
    const found = fires(
      rule,
      draw('void mine::my_scan<float, 4>(float*)', 6000),
      { id: 'hot-kernel', addresses: null, unit: 'ms/step', placed: true },
      { ...gpu, job },
    );
    expect(found.evidence[0]!.text).toMatch(/my_scan.*5\.9\d* ms per step \(59%\), 1 launches?$/);
    expect(found.fix!.code).toMatch(/--kernel-name regex:my_scan .*[\s\S]*torchrun train\.py/);
  });

  it('names ROCm’s tools for an AMD GPU', () => {
    const drawing = steps(4, 10000, step('my_scan', 6000)).replaceAll('cudaLaunchKernel', 'hipLaunchKernel');
    const found = fires(
      rule,
      drawView(drawing),
      { id: 'hot-kernel', addresses: null, unit: 'ms/step', placed: true },
      { ...gpu, job },
    );
    expect(found.title).toMatch(/rocprof-compute shows what limits it/);
    expect(found.fix!.code).toMatch(/^rocprof-compute profile .* -k my_scan -- .*[\s\S]*torchrun train\.py/);
    expect(JSON.stringify(found)).not.toMatch(/nsys|ncu|Nsight Compute/);
  });

  it('is silent about devices that neither Nsight nor ROCm’s tools know', () => {
    const view = draw('my_scan', 6000);
    const accelerator = { ...view.facts.accelerator, kind: 'xpu' } as const;
    expect(silence(rule, { ...view, facts: { ...view.facts, accelerator } }, gpu)).toMatch(
      /know this device/,
    );
  });

  it.each([
    ['a small kernel', 'my_scan', 1500, gpu, /takes \d+% of the step|tuned/],
    ['a matrix product', 'nvjet_tst_512', 6000, gpu, /tuned one \(gemm\)/],
    ['a host that the trace explains', 'my_scan', 6000, host, /explains where/],
    [
      'another bottleneck',
      'my_scan',
      6000,
      { verdict: { bottleneck: 'data', confidence: 1 } as const },
      /neither/,
    ],
  ])('is silent about %s', (_, kernel, until, verdict, reason) => {
    expect(silence(rule, draw(kernel, until), verdict)).toMatch(reason);
  });

  it('shows what the host does where the trace does not', () => {
    const idle = drawView(steps(4, 10000, step('my_scan', 6000)));
    const view = { ...idle, time: { ...idle.time, idle_other: idle.time.compute } };
    const found = fires(
      rule,
      view,
      { id: 'unseen-time', addresses: null, unit: 'ms/step', placed: false },
      { ...host, job },
    );
    expect(found.fix!.code).toMatch(/^nsys profile .*osrt[\s\S]*torchrun train\.py\n/);
  });
});
