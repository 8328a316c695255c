import { describe, expect, it } from 'vitest';
import { reportSchema } from '../../schemas/report-schema.js';
import { sampleReport } from '../../test/helpers/sample-reports.js';
import { formatRanks } from '../base/rank-ranges.js';
import { ms, share } from '../base/units.js';
import { rankCount } from '../render/step-time.js';
import { renderDiagnose } from '../render/terminal/diagnose.js';
import { inBrief, MANY } from './many-ranks.js';
import type { Report } from './report.js';

const LATE = 777;
const SLOW_STAGE = 3;

/** 8 ranks per host, 4 pipeline stages, the last of them late, and one rank that waits for input. */
function reportOf(count: number): Report {
  const sample = sampleReport();
  const one = sample.ranks[0]!;
  const numbers = [...Array(count).keys()];
  const stageOf = (rank: number) => Math.floor((4 * rank) / count);
  const lateOf = (rank: number) => (rank === LATE ? 80 : stageOf(rank) === SLOW_STAGE ? 5 : 0);
  return {
    ...sample,
    ranks: numbers.map((rank) => ({
      ...one,
      rank,
      host: `node-${Math.floor(rank / 8)}`,
      coordinates: { pp: stageOf(rank) },
      time:
        rank === LATE
          ? {
              ...one.time,
              compute: share(one.time.compute / 2),
              idle_data: share(one.time.idle_data + one.time.compute / 2),
            }
          : one.time,
    })),
    heat: {
      steps: [1, 2],
      rows: numbers.map((rank) => ({ rank, late_ms: [ms(lateOf(rank)), ms(lateOf(rank))] })),
    },
    stragglers: [],
    collectives: {
      ...{ matched: 9, unmatched: 0, wait_ms: ms(1), transfer_ms: ms(1) },
      groups: numbers.map((g) => ({
        ...{ name: `tp ${g}`, ranks: [g], size: 8, matched: 1, confidence: 1 },
        ...{ wait_ms: ms(g === 5 ? 3 : 0), transfer_ms: ms(0) },
      })),
    },
    inputs: numbers.map((rank) => ({
      ...{ path: `r${rank}`, kind: 'kineto', rank, bytes: 1, events: 1 },
      problems:
        rank === 99 ? [{ code: 'cut', count: 1, message: 'cut', consequence: 'less', first: null }] : [],
    })),
  };
}

describe('a report of many ranks', () => {
  it('lists every rank up to a number, and is then as it was', () => {
    const report = reportOf(MANY);
    expect(inBrief(report)).toBe(report);
    expect(rankCount(report)).toBe(MANY);
  });

  const full = reportOf(4096);
  const brief = inBrief(full);

  it('is small, fits the schema, and still knows how many there are', () => {
    expect(JSON.stringify(brief).length).toBeLessThan(100_000);
    expect(reportSchema.safeParse(brief).error).toBeUndefined();
    expect(rankCount(brief)).toBe(4096);
    expect(brief.many_ranks).toMatchObject({ ranks: 4096, files: 4096, groups: 4096 });
  });

  it('keeps the odd rank in full, the group that waits, and files with problems', () => {
    expect(brief.ranks.length).toBeLessThanOrEqual(64);
    expect(brief.ranks.find((r) => r.rank === LATE)).toEqual(full.ranks[LATE]);
    expect(brief.heat!.rows.find((r) => r.rank === LATE)).toEqual(full.heat!.rows[LATE]);
    expect(brief.collectives!.groups[0]!.name).toBe('tp 5');
    expect(brief.inputs.map((i) => i.path)).toContain('r99');
  });

  it('says which host and stage is late, and how late those are that are not listed', () => {
    const [host, stage] = brief.many_ranks!.axes;
    expect(host).toMatchObject({ name: 'host', values: 512 });
    expect(host!.latest[0]).toMatchObject({ value: 'node-97', ranks: 8, late_ms: 10 });
    expect(stage).toMatchObject({ name: 'pp', values: 4 });
    expect(stage!.latest[0]).toMatchObject({ value: '3', ranks: 1024, late_ms: 5 });
    expect(brief.many_ranks!.latest_other_ms).toEqual([5, 5]);
  });

  it('is readable on a terminal', () => {
    const text = renderDiagnose(brief, { color: false, columns: 80, all: false });
    expect(text).toMatch(/host \(512\) +node-97 +8 /);
    expect(text).toMatch(/rank +777 +██/);
    expect(text).toMatch(/^ {2}777 +node-97/m);
    expect(text).toContain('4096 files read');
    expect(text.split('\n').length).toBeLessThan(80);
  });
});

it('names the first of many ranges of ranks, and how many ranks there are', () => {
  const even = [...Array(60).keys()].map((i) => 2 * i);
  expect(formatRanks(even)).toBe('0, 2, 4, 6, 8, 10, 12, 14, … (60 in all)');
  expect(formatRanks(even.slice(0, 24)).endsWith('44, 46')).toBe(true);
});
