import { describe, expect, it } from 'vitest';
import { rankFromPath } from '../sources/rank-name.js';
import type { TraceSummary } from '../traces/trace-summary.js';
import type { RankInput, TraceInput } from './input.js';
import { assignRanks } from './ranks.js';

const member = (path: string, rank: number | null, window = '3-6'): TraceInput => ({
  file: path,
  path,
  hints: rankFromPath(path),
  storedBytes: 0,
  decodedBytes: 0,
  encodings: [],
  problems: [],
  of: 'trace',
  kind: 'kineto',
  identity: { events: 1, rank, window },
  summary: null,
  facts: null,
  checks: [],
  drawing: null,
  bounded: null,
  trace: null,
});
const assigned = (...members: RankInput[]) => {
  const { ranked, problems } = assignRanks(members);
  return {
    ranks: ranked.map((r) => `${r.rank} ${r.rankSource}`),
    codes: problems.map((p) => `${p.code} ${p.count}`),
  };
};

describe('assignRanks', () => {
  it('takes the rank in the file, then the one in its name, then the order of files', () => {
    const result = assigned(
      member('a.json', 5),
      member('rank1_trace.json', null),
      member('x.json', null),
      member('y.json', null),
    );
    expect(result).toEqual({
      ranks: ['5 file', '1 name', '0 order', '2 order'],
      codes: ['rank-from-order 2'],
    });
  });

  it('does not complain about a single file', () => {
    expect(assigned(member('trace.json', null))).toEqual({ ranks: ['0 order'], codes: [] });
  });

  it('reports a name that contradicts the file', () => {
    expect(assigned(member('rank-1.json', 0))).toEqual({ ranks: ['0 file'], codes: ['rank-conflict 1'] });
  });

  it('reports a rank that appears twice, and keeps both files', () => {
    expect(assigned(member('a/rank0.json', 0), member('b/rank0.json', 0))).toEqual({
      ranks: ['0 file', '0 file'],
      codes: ['duplicate-rank 1'],
    });
  });

  it('allows several windows of one rank', () => {
    const named = assigned(
      member('step_10/rank-0-coord-0-trace.json', 0),
      member('step_20/rank-0-coord-0-trace.json', 0),
    );
    expect(named.codes).toEqual([]);
    expect(assigned(member('a/rank0.json', 0, '3-6'), member('b/rank0.json', 0, '10-13')).codes).toEqual([]);
  });

  const recorded = (path: string, pid: string | null, startNs: bigint | null, window = '3-6') => ({
    ...member(path, null, window),
    summary: {
      process: { pid, wasAttached: null },
      hostName: null,
      window: { ms: 1, startNs, endNs: startNs === null ? null : startNs + 10n },
    } as unknown as TraceSummary,
  });

  it('gives windows of one process one rank', () => {
    expect(
      assigned(recorded('h_7.100.pt.trace.json', '7', 100n), recorded('h_7.200.pt.trace.json', '7', 200n)),
    ).toEqual({ ranks: ['0 order', '0 order'], codes: [] });
    expect(
      assigned(
        recorded('h_7.100.pt.trace.json', '7', 100n),
        recorded('h_8.100.pt.trace.json', '8', 101n),
        recorded('h_7.200.pt.trace.json', '7', 200n, '9-12'),
        recorded('h_8.200.pt.trace.json', '8', 201n, '9-12'),
      ),
    ).toEqual({
      ranks: ['0 order', '1 order', '0 order', '1 order'],
      codes: ['rank-from-order 4'],
    });
  });

  it('goes by steps where the time is not known', () => {
    expect(assigned(recorded('a.json', '7', null), recorded('b.json', '7', null, '9-12')).ranks).toEqual([
      '0 order',
      '0 order',
    ]);
  });

  it('tells processes with the same id apart by host, and by recording at the same time', () => {
    expect(
      assigned(recorded('a_1.100.pt.trace.json', '1', 100n), recorded('b_1.200.pt.trace.json', '1', 200n))
        .ranks,
    ).toEqual(['0 order', '1 order']);
    expect(assigned(recorded('x.json', '1', 100n), recorded('y.json', '1', 105n)).ranks).toEqual([
      '0 order',
      '1 order',
    ]);
    expect(assigned(recorded('x.json', null, 100n), recorded('y.json', null, 200n)).ranks).toEqual([
      '0 order',
      '1 order',
    ]);
  });
});
