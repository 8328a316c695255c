import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { NO_EVIDENCE } from '../../diagnosis/run-evidence.js';
import type { CompiledFunction } from '../../model/compile-log.js';
import { rule } from './recompiles.js';

/** 50 ms of compiling, then 10 ms of computing. */
const COMPILES = `
  host 1  ProfilerStep#1 0-60100 | _compile.compile_inner (dynamo_timed) 0-50000 | aten::mm 50000-50030
  host 1  cudaLaunchKernel 50010-50020 #1 | cudaDeviceSynchronize 50040-60050
  gpu 7   nvjet_tst_256 50040-60040 #1`;
/** cuDNN takes 30 ms to plan a convolution of a new shape, then 10 ms to run it. */
const PLANS = `
  host 1  ProfilerStep#1 0-40100 | aten::cudnn_convolution 0-30030 | cudaLaunchKernel 30010-30020 #1
  host 1  cudaDeviceSynchronize 30040-40050
  gpu 7   sm80_xmma_fprop_implicit_gemm 30040-40040 #1`;
/** Nothing of the kind; a compiled function may be looked up. */
const QUIET = `
  host 1  ProfilerStep#1 0-10200 | TorchDynamo Cache Lookup 0-50 | Torch-Compiled Region: 0/0 60-190
  host 1  cudaLaunchKernel 100-110 #1 | cudaDeviceSynchronize 200-10150
  gpu 7   triton_poi_fused_relu_0 120-10140 #1`;

const EXPECTED = { addresses: 'host', unit: 'ms/step', placed: false } as const;

describe('recompiles', () => {
  it('prices a step in which nothing is compiled', () => {
    const view = drawView(steps(4, 60100, COMPILES));
    const found = fires(rule, view, { ...EXPECTED, id: 'compiles-in-steps' });
    expectGain(found, 60.1 / 10.1);
    expect(found.evidence[0]!.value).toBeCloseTo(50, 0);
    expect(found.evidence[0]!.text).toMatch(/compile_inner/);
  });

  it('takes away candidates that tuning runs, and the Python around compiling', () => {
    const tuned = `
      host 1  ProfilerStep#1 0-60100 | benchmark_all_configs (dynamo_timed) 5000-50000 | cudaLaunchKernel 20000-20010 #2
      host 1  aten::mm 50000-50030 | cudaLaunchKernel 50010-50020 #1 | cudaDeviceSynchronize 50040-60050
      gpu 7   triton_poi_fused_0 20020-49000 #2 | nvjet_tst_256 50040-60040 #1`;
    const view = drawView(steps(4, 60100, tuned), { unprofiledMs: 60.1 });
    expectGain(fires(rule, view, { ...EXPECTED, id: 'compiles-in-steps' }), 60.1 / 10.1);
  });

  it('takes pauses for the compiler’s where compiling is most of the step', () => {
    const gain = (compiled: number, step: number) => {
      const drawing = `
        host 1  ProfilerStep#1 0-60100 | compile_inner (dynamo_timed) 0-${compiled} | aten::mm 50000-50030
        host 1  cudaLaunchKernel ${compiled + 10}-${compiled + 20} #2 | cudaLaunchKernel 50010-50020 #1
        host 1  cudaDeviceSynchronize 50040-60050
        gpu 7   nvjet_tst_64 ${compiled + 30}-${compiled + 40} #2 | nvjet_tst_256 50040-60040 #1`;
      const view = drawView(steps(4, 60100, drawing), { unprofiledMs: 60.1 });
      expectGain(fires(rule, view, { ...EXPECTED, id: 'compiles-in-steps' }), 60.1 / step);
    };
    gain(40_000, 10.1);
    gain(20_000, 40.1);
  });

  it('counts what all operators of the kind build, once one of them takes long: 30 ms and 10 × 1 ms', () => {
    const more = `
      host 1  ProfilerStep#1 0-50100 | aten::cudnn_convolution 0-30030 | cudaLaunchKernel 30010-30020 #1
      host 1  aten::mm 30040-31040 x10@1000 | cudaLaunchKernel 31020-31030 #2 x10@1000 | cudaDeviceSynchronize 40060-50050
      gpu 7   sm80_xmma_fprop_implicit_gemm 30040-30050 #1 | nvjet_tst_256 31040-31050 #2 x9@1000
      gpu 7   nvjet_tst_256 40050-50040 #11`;
    const view = drawView(steps(4, 50100, more), { unprofiledMs: 50.1 });
    const found = fires(rule, view, { ...EXPECTED, id: 'plans-rebuilt' });
    expect(found.evidence[0]!.value).toBeCloseTo(30 + 10 - 11 * 0.05, 1);
    expectGain(found, 50.1 / (10.1 + 11 * 0.05));
  });

  it('prices plans that are not built again', () => {
    const view = drawView(steps(4, 40100, PLANS));
    const found = fires(rule, view, { ...EXPECTED, id: 'plans-rebuilt' });
    expectGain(found, 40.1 / 10.1);
    expect(found.evidence[0]!.value).toBeCloseTo(30, 0);
  });

  it('says when plans are built because compiled code was given up', () => {
    const drawing = PLANS.replace('0-40100', '0-40100 | TorchDynamo Cache Lookup 30032-30038');
    const found = fires(rule, drawView(steps(4, 40100, drawing)), {
      ...EXPECTED,
      id: 'recompile-limit',
    });
    expect(found.evidence).toHaveLength(2);
  });

  it('finds a compiled function that runs eagerly', () => {
    const eager = QUIET.replace('Torch-Compiled Region: 0/0', 'aten::relu');
    const expected = { ...EXPECTED, id: 'recompile-limit', unit: null };
    expect(fires(rule, drawView(steps(4, 10200, eager)), expected).price).toBeNull();
  });

  it.each([
    ['compiled code runs', QUIET],
    [
      'everything is eager',
      QUIET.replace('TorchDynamo Cache Lookup', 'aten::empty').replace(
        'Torch-Compiled Region: 0/0',
        'aten::relu',
      ),
    ],
  ])('is silent when %s', (_, drawing) => {
    expect(silence(rule, drawView(steps(4, 10200, drawing)))).toMatch(/nothing is compiled/);
  });
});

describe('with a torch.compile log', () => {
  const LOGGED: CompiledFunction = {
    rank: 0,
    name: 'forward',
    file: 'model.py',
    line: 33,
    recompiles: 8,
    limit: { setting: 'recompile_limit', value: 8 },
    guards: [
      { kind: 'size', subject: 'x', dimension: 1, recompiles: 8, values: ['5', '6'], text: 'size mismatch' },
    ],
  };
  const evidence = { ...NO_EVIDENCE, compiled: [LOGGED] };

  it('prices as the trace does, and says which guard and what to do about it', () => {
    const view = drawView(steps(4, 60100, COMPILES));
    const found = fires(rule, view, { ...EXPECTED, id: 'compiles-in-steps' }, { evidence });
    expectGain(found, 60.1 / 10.1);
    expect(found.evidence.at(-1)!.text).toMatch(/dimension 1 of x/);
    expect(found.fix!.code).toMatch(/mark_dynamic\(x, 1\)/);
  });

  it('names a function that was given up although the trace shows nothing, but not what is over', () => {
    const view = drawView(steps(4, 10200, QUIET));
    const expected = { addresses: 'host', unit: 'recompiles', placed: false, id: 'recompile-limit' } as const;
    fires(rule, view, expected, { evidence });
    const over = { ...NO_EVIDENCE, compiled: [{ ...LOGGED, limit: null }] };
    expect(silence(rule, view, { evidence: over })).toMatch(/nothing is compiled/);
    const other = { ...NO_EVIDENCE, compiled: [{ ...LOGGED, rank: 1 }] };
    expect(silence(rule, view, { evidence: other })).toMatch(/nothing is compiled/);
  });
});
