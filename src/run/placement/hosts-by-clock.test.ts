import { describe, expect, it } from 'vitest';
import type { SimulateOptions } from '../../../test/helpers/simulate/options.js';
import { simulateRun } from '../../../test/helpers/simulate/simulate.js';
import { readFile } from '../../../test/helpers/simulate/testing.js';
import { ns } from '../../base/units.js';
import { analyzeTrace } from '../../traces/analyze-trace.js';
import type { RankClock } from '../collectives/clocks.js';
import { compareRanks } from '../compare.js';
import { hostsByClock } from './place-ranks.js';

/** Offsets in µs, of ranks 0, 1, … */
const clocksOf = (offsets: readonly number[], errorUs = 5): RankClock[] =>
  offsets.map((us, rank) => ({
    rank,
    component: 0,
    reference: 0,
    shift: 0,
    drift: 0,
    pivot: 0,
    offset: ns(us * 1000),
    error: ns(errorUs * 1000),
  }));

describe('hosts from clocks', () => {
  it('hosts from clocks are groups of consecutive ranks whose clocks agree', () => {
    const hosts = hostsByClock(clocksOf([0, 20, -15, 8, 2500, 2480, 2510, 2495]));
    expect([...new Set(hosts)]).toEqual(['the host with ranks 0–3', 'the host with ranks 4–7']);
    expect(hosts![5]).toBe('the host with ranks 4–7');
  });

  it.each<[string, RankClock[]]>([
    ['all clocks agree: one host', clocksOf([0, 57, 107, 106])],
    ['hosts are synchronized to 0.3 ms', clocksOf([0, 20, 8, 15, 310, 300, 320, 305])],
    ['the error is as large', clocksOf([0, 20, 8, 15, 2500, 2480, 2510, 2495], 900)],
    ['clocks within groups differ as much', clocksOf([0, 450, 900, 1350, 3000, 3450, 3900, 4350])],
    ['groups have different sizes', clocksOf([0, 5, 2500, 2510, 2520])],
    ['a group is a single rank', clocksOf([0, 2500])],
    ['ranks of a group are not consecutive', clocksOf([0, 2500, 5, 2510])],
    [
      'not all can be compared',
      clocksOf([0, 5, 2500, 2510]).map((c, i) => ({ ...c, component: Number(i > 1) })),
    ],
    ['there are none', []],
  ])('hosts from clocks are unknown where %s', (_, clocks) => expect(hostsByClock(clocks)).toBeNull());
});

/** Traces that name no host. */
const compared = (options: SimulateOptions) =>
  compareRanks(
    simulateRun(options).files.map((file) => ({
      rank: file.rank,
      host: null,
      coordinates: null,
      facts: analyzeTrace(readFile(file).trace, { steps: null, light: true })!,
    })),
  )!;
const EIGHT = {
  seed: 3,
  ranks: 8,
  ranksPerHost: 4,
  steps: 8,
  eventsPerStep: 80,
  parallelism: 'ddp',
} as const;
const SLOW = { kind: 'host', ranks: [4, 5, 6, 7], size: 0.3 } as const;
const APART = { offsetUsPerHost: 4000 };

describe('a slow host in traces that name none', () => {
  it('a slow host in traces that name none is found by its clock', () => {
    const [late] = compared({ ...EIGHT, clock: APART, fault: SLOW }).late;
    expect(late).toMatchObject({ pattern: 'host', ranks: [4, 5, 6, 7], location: 'the host with ranks 4–7' });
  });

  it('no slow host is made up: ranks that are late together are only ranks where clocks agree', () => {
    const { late } = compared({ ...EIGHT, clock: { offsetUsPerHost: 0 }, fault: SLOW });
    expect(late.map((l) => l.pattern)).not.toContain('host');
  });

  it('does not exist in a healthy run, whatever its clocks', () => {
    for (const offsetUsPerHost of [0, 200, 4000])
      expect(compared({ ...EIGHT, clock: { offsetUsPerHost } }).late).toEqual([]);
  });
});
