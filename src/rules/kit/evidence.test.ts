import { describe, expect, it } from 'vitest';
import { share } from '../../base/units.js';
import type { HostLine } from '../../diagnosis/ranks/host-lines.js';
import { lineEvidence } from './evidence.js';

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
