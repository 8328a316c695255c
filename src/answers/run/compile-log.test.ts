import { expect, it } from 'vitest';
import { compileLogAnswer } from './compile-log.js';

it('a torch.compile log alone gives no answer, but shows how to get one', () => {
  const answer = (compiled: number, graphBreaks: number) => {
    const lines = (n: number) => Array.from({ length: n }) as never[];
    return compileLogAnswer({ evidence: { compiled: lines(compiled), graphBreaks: lines(graphBreaks) } });
  };
  expect(answer(0, 0)).toBeNull();
  for (const claim of [answer(1, 0), answer(0, 1)])
    expect(claim).toMatchObject({
      bottleneck: 'unknown',
      words: { label: 'Unknown', headline: expect.stringMatching(/^the torch\.compile log/) },
      next: [expect.stringMatching(/whyslow run/)],
    });
});
