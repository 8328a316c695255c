import { expect, it } from 'vitest';
import { compileLogVerdict } from './compile-log-verdict.js';

it('says what a log of torch.compile cannot tell, and what can', () => {
  expect(compileLogVerdict({ compiled: [], graphBreaks: [] })).toBeNull();
  for (const log of [
    { compiled: ['forward'], graphBreaks: [] },
    { compiled: [], graphBreaks: ['train.py:3'] },
  ])
    expect(compileLogVerdict(log)).toMatchObject({
      bottleneck: 'unknown',
      sentence: expect.stringMatching(/^Unknown: the log of torch\.compile/),
      next: [expect.stringMatching(/whyslow run/)],
    });
});
