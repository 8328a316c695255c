import { describe, expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { share } from '../../base/units.js';
import type { HostLine } from '../../diagnosis/ranks/host-lines.js';
import { evidence, lineEvidence } from './evidence.js';

const line = (number: number, part: number, source: string, calls: readonly string[] = []): HostLine => ({
  file: 'train.py',
  line: number,
  function: 'step',
  source,
  share: share(part),
  samples: Math.round(part * 100),
  calls,
});

const LINES = [
  line(5, 0.5, 'loss.backward()', ['torch.autograd.graph._engine_run_backward']),
  line(9, 0.3, 'print(loss.item())'),
  line(12, 0.1, 'for batch in loader:', ['torch.utils.data.dataloader.__next__']),
  line(20, 0.02, 'x.item()'),
];

it('evidence from a recording without steps is about the recording, not about steps', () => {
  const text =
    '53 launches per step, GPU idle 19% of the step, 3 a step, over 1 step; without them the step is shorter';
  const step = 'host 1  ProfilerStep#1 0-1000 | cudaLaunchKernel 0-10 #1\ngpu 7  gemm 20-990 #1';
  expect(evidence(drawView(steps(3, 1000, step)), text).text).toBe(text);
  expect(evidence(drawView(step.replace('ProfilerStep#1', 'aten::mm')), text).text).toBe(
    '53 launches, GPU idle 19% of the recording, 3; without them it is shorter',
  );
});

describe('lines as evidence', () => {
  it('match by source or by library call, largest first', () => {
    expect(lineEvidence(/\.item\(/, LINES, 3)).toMatchObject([
      { text: 'train.py:9 in step, 30% of the thread’s time: print(loss.item())', value: 0.3, rank: 3 },
    ]);
    expect(lineEvidence(/torch\.utils\.data/, LINES, 0)[0]!.text).toContain('train.py:12');
    expect(lineEvidence(/./, LINES, 0).map((e) => e.value)).toEqual([0.5, 0.3]);
  });

  it('are none for rules without a pattern, and for small shares', () => {
    expect(lineEvidence(undefined, LINES, 0)).toEqual([]);
    expect(lineEvidence(/^x\.item/, LINES, 0)).toEqual([]);
  });
});
