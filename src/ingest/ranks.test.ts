import { describe, expect, it } from 'vitest';
import { rankFromPath } from '../sources/rank-name.js';
import type { RankMember, TraceMember } from './member.js';
import { assignRanks } from './ranks.js';

const member = (path: string, rank: number | null, window = '3-6'): TraceMember => ({
  file: path,
  path,
  hints: rankFromPath(path),
  storedBytes: 0,
  decodedBytes: 0,
  encodings: [],
  problems: [],
  kind: 'kineto',
  identity: { events: 1, rank, window },
  summary: null,
  facts: null,
  checks: [],
  trace: null,
});
const assigned = (...members: RankMember[]) => {
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
});
