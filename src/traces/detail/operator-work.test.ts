import { describe, expect, it } from 'vitest';
import type { WorkClass } from '../kernels/kernel-kind.js';
import { OperatorCall } from './operator-call.js';
import { operatorWork } from './operator-work.js';

const BF16 = 'c10::BFloat16';

function work(name: string, dims: unknown, values: unknown = [], kind: WorkClass = 'gemm', types?: unknown) {
  const all =
    types ??
    (Array.isArray(dims) ? dims : []).map((d) => (Array.isArray(d) && d.length > 0 ? BF16 : 'Scalar'));
  return operatorWork(name, new OperatorCall({ dims, types: all, values }), kind, 2);
}

describe('operatorWork', () => {
  // Figures of TraceLens (AMD-AGI), tests/traces/h100: GFLOPS and "Data Moved (MB)", which are MiB.
  it.each([
    [
      'aten::mm',
      [
        [8944, 1024],
        [1024, 2816],
      ],
      [],
      51.581550592,
      71.0078125,
    ],
    ['aten::addmm', [[1024], [8944, 1024], [1024, 1024], [], []], [], 18.756927488, 36.9375],
    [
      'aten::_scaled_dot_product_flash_attention',
      [[16, 16, 559, 64], [16, 16, 559, 64], [16, 16, 559, 64], [], [], [], []],
      ['', '', '', '0.', 'True', 'False', '0.125'],
      10.239377408,
      69.875,
    ],
    [
      'aten::convolution',
      [[128, 3, 224, 224], [768, 3, 16, 16], [768], [], [], [], [], [], []],
      ['', '', '', '[16, 16]', '[0, 0]', '[1, 1]', 'False', '[0, 0]', '1'],
      29.595009024,
      74.625,
    ],
  ])('computes for %s what TraceLens computes', (name, dims, values, gflop, mib) => {
    const found = work(name, dims, values)!;
    expect(found.flops / 1e9).toBeCloseTo(gflop, 1);
    expect(found.bytes / 2 ** 20).toBeCloseTo(mib, 1);
  });

  it('counts a strided convolution by its outputs, in groups by their part of the channels', () => {
    const dims = [[2, 8, 16, 16], [4, 2, 3, 3], [], [], [], [], [], [], []];
    const values = ['', '', '', '[2, 2]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '4'];
    expect(work('aten::convolution', dims, values)!.flops).toBe(2 * (2 * 4 * 8 * 8) * 2 * 9);
  });

  it('counts a transposed convolution by its inputs', () => {
    const dims = [[1, 8, 4, 4], [8, 6, 2, 2], [], [], [], [], [], [], []];
    const values = ['', '', '', '[2, 2]', '[0, 0]', '[1, 1]', 'True', '[0, 0]', '1'];
    const found = work('aten::convolution', dims, values)!;
    expect(found.flops).toBe(2 * (8 * 4 * 4) * 6 * 4);
    expect(found.bytes).toBe(2 * (128 + 192 + 6 * 8 * 8));
  });

  it('counts only the gradients of a convolution that are wanted', () => {
    const dims = [[10, 512, 7, 7], [10, 512, 7, 7], [512, 512, 3, 3], [], [], [], [], [], [], [], []];
    const values = (mask: string) => [
      '',
      '',
      '',
      '[0]',
      '[1, 1]',
      '[1, 1]',
      '[1, 1]',
      'False',
      '[0, 0]',
      '1',
      mask,
    ];
    const one = 2 * (10 * 512 * 49) * 512 * 9;
    expect(work('aten::convolution_backward', dims, values('[True, True, False]'))!.flops).toBe(2 * one);
    expect(work('aten::convolution_backward', dims, values('[False, True, False]'))!.flops).toBe(one);
  });

  it('reads both tensors of an addition and writes the broadcast result', () => {
    const types = ['float', 'float', 'Scalar'];
    expect(work('aten::add', [[64, 1, 32], [16, 1], []], [], 'elementwise', types)!.bytes).toBe(
      4 * (2048 + 16 + 2048),
    );
    expect(work('aten::add_', [[64, 32], [64, 32], []], [], 'elementwise', types)!.bytes).toBe(4 * 3 * 2048);
    expect(work('aten::copy_', [[64, 32], [64, 32], []], [], 'cast', [BF16, 'float', 'Scalar'])!.bytes).toBe(
      6 * 2048,
    );
    expect(work('aten::sum', [[64, 32], [], []], [], 'reduction', ['float', '', ''])!.bytes).toBe(4 * 2048);
  });

  it('counts a fused optimizer by what it reads and writes, but not its gradients twice', () => {
    const lists = [
      [[100], [20]],
      [[100], [20]],
      [[100], [20]],
      [[100], [20]],
    ];
    const types = lists.map(() => 'TensorList');
    expect(work('aten::_fused_adamw_', lists, [], 'optimizer', types)!.bytes).toBe(2 * (4 * 120 + 3 * 120));
  });

  it('knows nothing of operators without a formula, or with shapes that cannot be', () => {
    expect(
      work('my::matmul', [
        [8, 8],
        [8, 8],
      ]),
    ).toBeNull();
    expect(
      work('aten::mm', [
        [8, 4],
        [8, 4],
      ]),
    ).toBeNull();
    expect(work('aten::mm', 'none')).toBeNull();
    expect(
      work('aten::mm', [
        [8, -4],
        [-4, 8],
      ]),
    ).toBeNull();
    expect(
      work('aten::convolution', [
        [2, 8, 16, 16],
        [4, 8, 3, 3],
      ]),
    ).toBeNull();
    expect(work('aten::mul', [[8, 8]], [], 'gemm')).toBeNull();
    expect(
      work('constructor', [
        [8, 8],
        [8, 8],
      ]),
    ).toBeNull();
  });
});
