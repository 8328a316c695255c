import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitInto, tokensOf } from './fit.js';

const reports = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 60 });

describe('an answer that must fit', () => {
  it('an answer that must fit never takes more than its tokens', () => {
    fc.assert(
      fc.property(reports, fc.integer({ min: 400, max: 20_000 }), (report, tokens) => {
        expect(tokensOf(JSON.stringify(fitInto(report, tokens)))).toBeLessThanOrEqual(tokens);
      }),
    );
  });

  it('an answer that fits stays whole, and nothing is listed as cut', () => {
    const report = { verdict: { text: 'data' }, ranks: [1, 2, 3], none: null, big: 2 ** 40 };
    expect(fitInto(report, 1000)).toEqual({ value: report, cut: [] });
  });

  it('an answer that was cut names the lists, with what is shown and what there was', () => {
    const report = {
      findings: Array.from({ length: 100 }, (_, i) => ({ id: `f${i}`, text: 'eager '.repeat(12) })),
    };
    const { value, cut } = fitInto(report, 700);
    const shown = (value.findings as unknown[]).length;
    expect(shown).toBeGreaterThan(3);
    expect(cut).toEqual([{ path: 'findings', shown, of: 100 }]);
  });

  it.each([
    [
      32,
      'Data-bound: the GPU spends 84% of every step waiting for batches on the training thread [data/input-on-training-thread, confidence 0.97]',
    ],
    [
      45,
      '0,3,1794704296049132222,0.863,Memcpy HtoD (Pinned -> Device),memcpy,copy,,0,7,25.614,aten::copy_,,,,2048',
    ],
    [
      51,
      'void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::UnaryOpFunctor<long, 2, 1, 1>',
    ],
    [43, '{"low":2.861,"likely":4.052,"high":4.653,"rows":[[69949.11499999999,54],[32174.907999999992,54]]}'],
    [20, '训练很慢，因为数据加载在主线程上。'],
  ])('an answer is not counted as fewer tokens than models count (%i)', (counted, text) => {
    expect(tokensOf(text)).toBeGreaterThanOrEqual(counted);
    expect(tokensOf(text)).toBeLessThan(1.6 * counted);
  });

  it('keys of an answer that act on a terminal are spelled out', () => {
    const { value } = fitInto({ kernels: { 'a\u202e': 1 } }, 1000);
    expect(value).toEqual({ kernels: { 'a\\u202e': 1 } });
  });

  it('names in an answer that act on a terminal are spelled out', () => {
    expect(fitInto({ name: 'a\x1b[2J\u202eb' }, 1000).value).toEqual({ name: 'a\\x1b[2J\\u202eb' });
  });
});
