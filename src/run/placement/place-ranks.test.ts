import { describe, expect, it } from 'vitest';
import { ProblemLog } from '../../base/problem.js';
import type { RankManifest, RunManifest } from '../../model/manifest.js';
import { joinManifests, type ReadManifest } from './join-manifests.js';
import { placeRanks, type RankSeen } from './place-ranks.js';

const run = (more: Partial<RunManifest> = {}): ReadManifest => ({
  path: 'run.json',
  namedRank: null,
  manifest: {
    of: 'run',
    run: 'a',
    worldSize: 4,
    startedNs: null,
    versions: {},
    command: [],
    launch: null,
    mesh: [
      { name: 'dp', size: 2 },
      { name: 'tp', size: 2 },
    ],
    ...more,
  },
});
const rank = (r: number, more: Partial<RankManifest> = {}, namedRank: number | null = r): ReadManifest => ({
  path: `ranks/rank_${namedRank}.json`,
  namedRank,
  manifest: {
    of: 'rank',
    run: 'a',
    rank: r,
    localRank: r,
    host: 'h',
    pid: 1,
    processStartedNs: null,
    device: null,
    anchors: [],
    coordinates: { dp: r >> 1, tp: r % 2 },
    dropped: {},
    windows: [],
    launch: null,
    stacks: null,
    cores: null,
    cpu: null,
    loader: null,
    steps: null,
    parameters: {},
    smallCollectives: null,
    ...more,
  },
});
const seen = (r: number, more: Partial<RankSeen> = {}): RankSeen => ({
  rank: r,
  host: null,
  worldSize: null,
  coordinatesInName: null,
  device: null,
  ...more,
});

function locate(manifests: readonly ReadManifest[], ranks: readonly RankSeen[]) {
  const problems = new ProblemLog();
  const capture = joinManifests(manifests, problems);
  const locations = placeRanks(ranks, capture, problems);
  return {
    locations,
    coordinates: ranks.map((r) => JSON.stringify(locations.get(r.rank)!.coordinates)),
    problems: problems.list().map((p) => `${p.code}: ${p.message}`),
  };
}

describe('locations of ranks', () => {
  it('come from their manifests, in the order of the axes', () => {
    const turned = rank(1, { coordinates: { tp: 1, dp: 0 } });
    const result = locate([run(), rank(0), turned], [seen(0), seen(1)]);
    expect(result.coordinates).toEqual(['{"dp":0,"tp":0}', '{"dp":0,"tp":1}']);
    expect(result.problems).toEqual([]);
    expect(result.locations.get(1)).toMatchObject({ host: 'h', worldSize: 4, localRank: 1 });
  });

  it('come from file names, with the axis names of the run where it has as many', () => {
    const names = [seen(0, { coordinatesInName: [0, 0] }), seen(3, { coordinatesInName: [1, 1] })];
    expect(locate([run()], names).coordinates).toEqual(['{"dp":0,"tp":0}', '{"dp":1,"tp":1}']);
    expect(locate([], names).coordinates).toEqual(['{"axis0":0,"axis1":0}', '{"axis0":1,"axis1":1}']);
    // Without a mesh, files are named by rank.
    const byRank = [seen(3, { coordinatesInName: [3] })];
    const without = rank(3, { coordinates: null });
    expect(locate([run({ mesh: null }), without], byRank).coordinates).toEqual(['null']);
  });

  it('locations of ranks that are missing follow from the usual order, if the others follow it', () => {
    const lost = rank(2, { coordinates: null });
    expect(locate([run(), rank(1), lost], [seen(1), seen(2)]).coordinates[1]).toBe('{"dp":1,"tp":0}');
    const other = rank(1, { coordinates: { dp: 1, tp: 0 } });
    expect(locate([run(), other, lost], [seen(1), seen(2)]).coordinates[1]).toBe('null');
  });

  it('locations of ranks are the manifest’s where files contradict it, and that is a problem', () => {
    const wrong = seen(1, { coordinatesInName: [1, 1], host: 'x.cluster', worldSize: 8 });
    const result = locate([run(), rank(1)], [wrong]);
    expect(result.coordinates).toEqual(['{"dp":0,"tp":1}']);
    expect(result.locations.get(1)).toMatchObject({ host: 'h', worldSize: 4 });
    expect(result.problems).toEqual([
      'place-conflict: rank 1 is at 0-1, its file is named 1-1; rank 1 ran on h, its trace says x.cluster; the job has 4 ranks, the trace of rank 1 says 8',
    ]);
    expect(locate([run(), rank(1)], [seen(1, { host: 'H.cluster.local' })]).problems).toEqual([]);
  });

  it('come from the trace where there is no manifest', () => {
    const { locations } = locate([], [seen(0, { host: 'x', device: { id: 3, name: 'A' } })]);
    expect(locations.get(0)).toMatchObject({ host: 'x', device: { index: 3, name: 'A', pci: null } });
  });
});

describe('manifests that contradict each other', () => {
  const conflicts = (...manifests: readonly ReadManifest[]) => locate(manifests, [seen(0)]).problems;
  it.each<[string, readonly ReadManifest[], RegExp]>([
    [
      'a mesh of another size',
      [run({ worldSize: 8 })],
      /a mesh of dp 2 × tp 2 has room for 4 ranks, the job has 8/,
    ],
    ['a rank beyond the job', [run(), rank(9)], /there is a rank 9 in a job of 4/],
    ['a rank with the name of another', [rank(0, {}, 1)], /rank_1.json is of rank 0, its name says 1/],
    ['a rank twice', [rank(0), rank(0)], /rank 0 has two manifests/],
    [
      'coordinates outside',
      [run(), rank(0, { coordinates: { dp: 5, tp: 0 } })],
      /dp 5, tp 0, which is not in the mesh/,
    ],
    [
      'another axis',
      [run(), rank(0, { coordinates: { dp: 0, pp: 0 } })],
      /dp 0, pp 0, which is not in the mesh/,
    ],
  ])('%s', (_, manifests, message) => {
    expect(conflicts(...manifests)).toEqual([expect.stringMatching(message)]);
  });

  it('report what capture left out', () => {
    const dropped = { 'disk-full': 3, 'queue-full': 0 };
    expect(conflicts(rank(0, { dropped }), rank(1, { dropped }))).toEqual([
      'capture-dropped: capture left out 6 records or files (disk-full 6)',
    ]);
  });
});
