import { describe, expect, it } from 'vitest';
import { fires, silence } from '../../../test/helpers/draw-run.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import type { CapturedCpu, CapturedRank } from '../../diagnosis/run-facts.js';
import { rule } from './gil-contention.js';

const view = loggedView({ compute: 5, idle_host: 5 });
/** As `jobs/p13_gil` on a quiet machine: the other thread runs most of the time. */
const CPU: CapturedCpu = {
  used: 0.91,
  queued: 0.05,
  threads: 1,
  affinity: null,
  threadQueued: 0.02,
  threadRan: 0.14,
  threadsBy: 'default',
  background: [],
  throttled: null,
};
const LINE = { thread: 'Thread-1', file: 'train.py', line: 9, function: 'count', samples: 95 };
const rank = (cpu: Partial<CapturedCpu> = {}, samples = 95): CapturedRank => ({
  cores: null,
  loader: null,
  cpu: { ...CPU, ...cpu },
  stacks: { samples: 100, lines: [], background: [{ ...LINE, samples }] },
});
const run = (own: CapturedRank) => ({ captured: new Map([[0, own]]) });

describe('a thread that holds the interpreter lock', () => {
  it('is named with its line, and priced between a part of the wait and all of it', () => {
    const expected = { id: 'gil-contention', addresses: 'host', unit: '%', placed: false } as const;
    const found = fires(rule, view, expected, run(rank()));
    expect(found.evidence[0]!.text).toMatch(/^thread Thread-1 runs 77% .* train\.py:9 in count; .* runs 14%/);
    // 84% of the time it neither runs nor waits for a core. By hand: ×3.4.
    expect(found.price!.speedup).toMatchObject({
      low: expect.closeTo(1 / (1 - 0.2 * 0.84), 2),
      high: expect.closeTo(1 / (1 - 0.84), 2),
    });
    expect(found.price!.speedup.likely).toBeGreaterThan(2);
  });

  it.each<[string, CapturedRank, RegExp]>([
    ['it sleeps', rank({ used: 0.16 }), /no other Python thread/],
    ['operators run on threads of their own', rank({ threads: 8 }), /no other Python thread/],
    ['it comes and goes', rank({}, 12), /no other Python thread/],
    ['it runs far less than the training thread', rank({ used: 0.99, threadRan: 0.85 }), /far less/],
    ['nothing was recorded', { cores: null, loader: null }, /not recorded/],
  ])('is no finding if %s', (_, own, reason) => {
    expect(silence(rule, view, run(own))).toMatch(reason);
  });

  it('is no finding if it makes the batches that the loop waits for', () => {
    const waits = { ...view, inputLine: 'train.py:3 (q.get())' };
    expect(silence(rule, waits, run(rank()))).toMatch(/make batches/);
  });
});
