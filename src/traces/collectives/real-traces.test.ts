import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readRank } from '../../../test/helpers/collectives.js';
import { describeWithShared, SHARED } from '../../../test/helpers/shared.js';
import { COLLECTIVE_KINDS } from '../../facts/rank-collectives.js';
import { alignClocks } from '../../run/collectives/clocks.js';
import { matchCollectives } from '../../run/collectives/match.js';
import { divideWaits } from '../../run/collectives/waits.js';

const ZOO = fileURLToPath(new URL('../../../test/fixtures/zoo-ranks', import.meta.url));

function analyze(...files: readonly string[]) {
  const ranks = files.map((f) => readRank(f));
  const matched = matchCollectives(ranks);
  const clocks = alignClocks(ranks, matched);
  return { ranks, matched, clocks, waits: divideWaits(ranks, matched, clocks.contradicted) };
}
const zoo = (name: string) => analyze(...[0, 1, 2, 3].map((r) => join(ZOO, name, `rank${r}.json.gz`)));
const hta = (...names: string[]) => analyze(...names.map((name) => join(SHARED, 'peers/hta', name)));

describe('recordings of four ranks', () => {
  it('a host that sleeps 20 ms: the others wait that long in every step', () => {
    const { matched, waits, ranks } = zoo('straggler_host');
    expect(matched).toMatchObject({ length: 20, unmatched: 0, outside: 0, alone: 0 });
    const waitIn = (r: number, step: number) =>
      ranks[r]!.collectives.step.reduce((sum, s, e) => sum + (s === step ? waits.waitOf[r]![e]! : 0), 0);
    const perStep = ranks.map((rank, r) =>
      [...rank.collectives.steps.keys()].slice(1).map((step) => waitIn(r, step) / 1e6),
    );
    for (const r of [0, 1, 3]) for (const ms of perStep[r]!) expect(ms).toBeGreaterThan(17);
    for (const r of [0, 1, 3]) for (const ms of perStep[r]!) expect(ms).toBeLessThan(24);
    for (const ms of perStep[2]!) expect(ms).toBeLessThan(1);
    const caused = waits.ranks.map((r) => r.caused / 9e6);
    expect(caused[2]).toBeGreaterThan(17);
    for (const r of [0, 1, 3]) expect(caused[r]).toBeLessThan(1);
  });

  // They share one GPU, so that what they send is ready at different moments.
  it('ranks that are alike: short waits, caused by all in turn', () => {
    const { waits } = zoo('balanced');
    for (const r of waits.ranks) expect(r.wait / r.transfer).toBeLessThan(0.2);
    expect(new Set(waits.late).size).toBeGreaterThan(3);
  });

  it('a slow network: transfers, and hardly any waiting', () => {
    const { waits, matched } = zoo('comms_bound');
    expect(matched.length).toBe(70);
    for (const r of waits.ranks) expect(r.wait / r.transfer).toBeLessThan(0.1);
  });

  it('one clock: no offset beyond three times the error', () => {
    for (const name of ['straggler_host', 'balanced', 'comms_bound']) {
      const { clocks } = zoo(name);
      expect(clocks.components).toEqual([[0, 1, 2, 3]]);
      for (const c of clocks.ranks) {
        expect(Math.abs(c.offset)).toBeLessThanOrEqual(3 * c.error);
        expect(c.error).toBeLessThan(1e6);
      }
    }
  });
});

describeWithShared('peers/hta', 'traces of HTA', () => {
  it('two of 128 ranks, a sample of each, no arguments: what they share, with doubt', () => {
    const files = [0, 1].map((r) => `trace_filter/sampled_rank-${r}.json.gz`);
    const { matched, clocks, ranks } = hta(...files);
    expect(ranks.map((r) => r.collectives.length)).toEqual([10, 10]);
    expect(matched).toMatchObject({ length: 6, unmatched: 8 });
    expect(matched.confidence).toBeLessThan(0.5);
    // Two all-to-alls of different moments look alike; clocks tell.
    expect(clocks.contradicted.reduce((n, c) => n + c, 0)).toBe(1);
    expect(Math.abs(clocks.ranks[1]!.offset)).toBeLessThan(1e6);
    expect(clocks.ranks[1]!.error).toBeLessThan(1e6);
  });

  it('one rank of two with arguments: known, and nothing to compare it with', () => {
    const { ranks, matched } = hta('nccl_parser_config/nccl_data.json.gz');
    const { collectives: c } = ranks[0]!;
    expect(c.groups.map((g) => g.key)).toEqual(['ranks 0,1']);
    expect([c.length, matched.length, matched.alone]).toEqual([21, 0, 21]);
    expect(Array.from(c.bytes.slice(0, 3))).toEqual([212_480, 424, 8_196_000]);
  });

  it('a trace of 2022: kinds and sizes from calls around the launches', () => {
    const { ranks } = hta('trace_diff/control/control.json.gz');
    const { collectives: c } = ranks[0]!;
    const count = (kind: string) => c.kind.filter((k) => COLLECTIVE_KINDS[k] === kind).length;
    expect([c.length, count('all_to_all'), count('all_reduce')]).toEqual([60, 42, 18]);
    expect(c.bytes.every((b) => b > 0)).toBe(true);
  });
});
