import { expect, it } from 'vitest';
import { NO_EVIDENCE, type RunEvidence } from '../run-evidence.js';
import { compileLogVerdict } from './compile-log-verdict.js';

it('says what a log of torch.compile cannot tell, and what can', () => {
  expect(compileLogVerdict(NO_EVIDENCE)).toBeNull();
  const compiled = [{ name: 'forward' }] as unknown as RunEvidence['compiled'];
  expect(compileLogVerdict({ ...NO_EVIDENCE, compiled })).toMatchObject({
    bottleneck: 'unknown',
    sentence: expect.stringMatching(/^Unknown: the log of torch\.compile/),
    next: [expect.stringMatching(/whyslow run/)],
  });
});
