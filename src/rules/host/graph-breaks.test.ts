import { describe, expect, it } from 'vitest';
import { runOf } from '../../../test/helpers/draw-run.js';
import { NO_EVIDENCE } from '../../diagnosis/run-evidence.js';
import type { Bottleneck } from '../../facts/causes.js';
import { runRules } from '../run-rules.js';
import { rule } from './graph-breaks.js';

const at = (line: number, rank: number) => ({
  rank,
  file: 'train.py',
  line,
  reason: 'call to item',
  count: 2,
});

function ask(bottleneck: Bottleneck, graphBreaks = [at(5, 0), at(9, 0), at(5, 1)]) {
  return runRules([rule], { ...runOf([], bottleneck), evidence: { ...NO_EVIDENCE, graphBreaks } });
}

describe('graph breaks in a log', () => {
  it('are named once each, with their place and reason', () => {
    const [finding] = ask('host').findings;
    expect(finding).toMatchObject({ title: 'torch.compile breaks the graph at 2 places', ranks: [0, 1] });
    expect(finding!.evidence.map((e) => e.text)).toEqual([
      'graph break at train.py:5: call to item',
      'graph break at train.py:9: call to item',
    ]);
  });

  it('graph breaks are not reported if the host is not the bottleneck', () => {
    expect(ask('gpu').silent[0]!.reason).toMatch(/not the bottleneck/);
    expect(ask('host', []).silent[0]!.reason).toMatch(/no graph breaks/);
  });
});
