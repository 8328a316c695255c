import { describe, expect, it } from 'vitest';
import { ns } from '../../base/units.js';
import type { LateRanks } from '../../run/lateness/late-ranks.js';
import { CAUSE_WORDS, describeRanks, lateSentence } from './late-words.js';

const late = (more: Partial<LateRanks>, location: string | null = null) =>
  ({
    ranks: [5],
    pattern: 'persistent',
    cause: 'data',
    cost: ns(3.25e6),
    confidence: 0.9,
    place: location,
    location,
    steps: [],
    ...more,
  }) as unknown as LateRanks;

describe('the sentence on a late rank', () => {
  it('has the rank, the cost in ms and the cause', () => {
    const sentence = lateSentence(late({}));
    expect(sentence).toMatch(/^Rank 5 /);
    expect(sentence).toMatch(/\b3\.3 ms per step\b/);
    expect(sentence).toContain(CAUSE_WORDS.data);
  });

  it('a late rank’s cost has a range if a log does not show what is hidden, and names what does', () => {
    const sentence = lateSentence(late({ cost: ns(0), mayCost: ns(14.7e6) }));
    expect(sentence).toMatch(/\bcosts 0 to 14\.7 ms per step\b/);
    expect(sentence).toMatch(/\btrace\b/);
    const rotating = { ranks: [], pattern: 'rotating', mayCost: ns(9e6) } as const;
    expect(lateSentence(late(rotating))).toMatch(/3\.3 to 9\.0 ms late.*\btrace\b/);
  });

  it('agrees with the number of ranks', () => {
    expect(lateSentence(late({}))).toMatch(/\bcosts\b/);
    expect(lateSentence(late({ ranks: [5, 6] }))).toMatch(/\bcost\b/);
  });

  it('differs with the pattern', () => {
    const patterns = ['persistent', 'spike', 'periodic'] as const;
    expect(new Set(patterns.map((pattern) => lateSentence(late({ pattern })))).size).toBe(3);
  });

  it('of an imbalance names nobody', () => {
    const sentence = lateSentence(late({ ranks: [], pattern: 'rotating' }));
    expect(sentence).toMatch(/3\.3 ms/);
    expect(sentence).not.toMatch(/[Rr]ank 5/);
  });

  it('names the phase of the job in which they are late', () => {
    const phase = { name: 'tokenize', time: ns(8.2e6), usual: ns(310e3) };
    const sentence = lateSentence(late({ cause: 'unknown', phase }));
    expect(sentence).toMatch(/: the phase tokenize \(8\.20 ms per step, 0\.31 ms on the others\)$/);
    expect(lateSentence(late({ phase: { ...phase, usual: ns(0) } }))).toMatch(/no other rank has it/);
  });

  it('of a slow GPU has what telemetry says', () => {
    const limit = { by: 'thermal', share: 0.336 };
    const slowGpu = { clock: 1200, usualClock: 1755, held: limit, limit } as unknown as NonNullable<
      LateRanks['slowGpu']
    >;
    const sentence = lateSentence(late({ cause: 'gpu', slowGpu }));
    for (const part of [CAUSE_WORDS.gpu, '1,200 MHz', '1,755', '34%']) expect(sentence).toContain(part);
    expect(lateSentence(late({ cause: 'gpu' }))).not.toContain('MHz');
  });
});

describe('late ranks', () => {
  it('of a machine or a stage are all of that place', () => {
    expect(describeRanks(late({ pattern: 'host' }, 'node-3'))).toMatch(/all .*node-3/);
    expect(describeRanks(late({ pattern: 'stage' }, 'pp 1'))).toMatch(/all .*pp 1/);
    expect(describeRanks(late({ pattern: 'host' }, null))).toMatch(/all .*host/);
    expect(describeRanks(late({ pattern: 'stage' }, null))).toMatch(/all .*stage/);
  });

  it('are named by number', () => {
    expect(describeRanks(late({}))).toBe('rank 5');
    expect(describeRanks(late({}, 'node-3'))).toBe('rank 5');
  });
});
