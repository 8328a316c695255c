import { describe, expect, it } from 'vitest';
import { markSteps, recordSteps } from './accelerator.js';

const TRAINING = { byNsys: false, torch: true, ownProfiler: false };

describe('advice on a better recording', () => {
  it.each([
    ['a training script', TRAINING, /profiler\.step\(\)/, /schedule\(/],
    [
      'a training script under nsys',
      { ...TRAINING, byNsys: true },
      /torch\.cuda\.nvtx/,
      /nsys profile --delay/,
    ],
    [
      'a program without PyTorch',
      { ...TRAINING, byNsys: true, torch: false },
      /nvtxRangePush/,
      /nsys profile/,
    ],
    ['a serving engine', { ...TRAINING, ownProfiler: true }, /\/start_profile/, /\/start_profile/],
  ])('fits %s', (_, recorded, marking, recording) => {
    expect(markSteps(recorded)).toMatch(marking);
    expect(recordSteps('warm steps', recorded)).toMatch(recording);
  });

  it('does not ask a program without PyTorch for anything of torch', () => {
    const program = { byNsys: true, torch: false, ownProfiler: false };
    expect(markSteps(program) + recordSteps('warm steps', program)).not.toMatch(
      /torch|schedule\(|profiler\./,
    );
  });
});
