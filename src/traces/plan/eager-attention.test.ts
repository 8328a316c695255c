import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../../test/helpers/draw-trace.js';
import { analyzeTrace } from '../analyze-trace.js';
import { Role } from '../detail/roles.js';

/** The operators of one step, each launching one kernel, that are taken for attention. */
function attention(...operators: string[]): string[] {
  const at = (i: number) => 10 + i * 10;
  const host = operators.map(
    (name, i) => `${name} ${at(i)}-${at(i) + 8} | cudaLaunchKernel ${at(i) + 2}-${at(i) + 4} #${i + 1}`,
  );
  const gpu = operators.map((_, i) => `k ${at(i) + 5}-${at(i) + 7} #${i + 1}`);
  const trace = drawTrace(
    `host 1  ProfilerStep#1 0-${at(operators.length)} | ${host.join(' | ')}\ngpu 7  ${gpu.join(' | ')}`,
  );
  const { roles } = analyzeTrace(trace, { steps: null })!.detail!.plan!.works;
  return operators.filter((_, i) => (roles[i]! & Role.mathAttention) !== 0);
}

describe('unfused attention', () => {
  it('goes from the product before the softmax to the one after it', () => {
    expect(
      attention('aten::linear', 'aten::bmm', 'aten::div', 'aten::_softmax', 'aten::bmm', 'aten::add'),
    ).toEqual(['aten::bmm', 'aten::div', 'aten::_softmax', 'aten::bmm']);
  });

  it('takes both products on either side in the backward pass', () => {
    const backward = [
      ...['aten::bmm', 'aten::bmm', 'aten::mul', 'aten::_softmax_backward_data', 'aten::masked_fill'],
      ...['aten::bmm', 'aten::bmm'],
    ];
    expect(attention('aten::sum', ...backward, 'aten::mm')).toEqual(backward);
  });

  it.each([
    ['a softmax over classes', ['aten::linear', 'aten::_softmax', 'aten::nll_loss']],
    ['products without a softmax', ['aten::bmm', 'aten::add', 'aten::bmm']],
    ['a product on one side only', ['aten::bmm', 'aten::_softmax', 'aten::sum']],
    [
      'a product far away',
      ['aten::bmm', ...Array<string>(15).fill('aten::add'), 'aten::_softmax', 'aten::bmm'],
    ],
  ])('unfused attention is not %s', (_, operators) => {
    expect(attention(...operators)).toEqual([]);
  });
});
