import { describe, expect, it } from 'vitest';
import { gpuState } from '../../../test/helpers/telemetry.js';
import { hostKey, placeGpus, type RankLocation, type TelemetryLog } from './place-gpus.js';

const gpu = (index: number, more: Parameters<typeof gpuState>[0] = {}) => gpuState({ index, ...more });
const four = [0, 1, 2, 3].map((i) => gpu(i));
const log = (gpus: TelemetryLog['gpus'], host: string | null = null, path = 'dmon.txt') => ({
  path,
  host,
  gpus,
});
const device = (index: number, pci: string | null = null, uuid: string | null = null) => ({
  index,
  name: null,
  uuid,
  pci,
});
const rank = (n: number, more: Partial<RankLocation> = {}): RankLocation => ({
  rank: n,
  host: null,
  localRank: null,
  device: null,
  ...more,
});
const found = (ranks: readonly RankLocation[], logs: readonly TelemetryLog[]) => {
  const { gpus, unplaced } = placeGpus(ranks, logs);
  return [...[...gpus].map(([r, g]) => `${r}:${g.index}`), ...unplaced.map((p) => `not ${p}`)].join(' ');
};

describe('the GPU of a rank', () => {
  it('the GPU of a rank is the one with its id, whatever the numbers', () => {
    const named = four.map((g, i) => ({ ...g, uuid: `uuid-000${i}`, pci: `0:${i}a:0` }));
    const by = (key: 'uuid' | 'pci') =>
      [0, 1].map((r) => rank(r, { device: { ...device(0), [key]: named[3 - r]![key] } }));
    expect(found(by('uuid'), [log(named)])).toBe('0:3 1:2');
    expect(found(by('pci'), [log(named)])).toBe('0:3 1:2');
  });

  it('the GPU of a rank follows from the order on the bus, which is how nvidia-smi counts', () => {
    const buses = ['0:9:0', '0:1b:0', '0:a3:0', '1:2:0'];
    // Each process sees one GPU and calls it 0.
    const ranks = [2, 0, 3, 1].map((b, r) => rank(r, { device: device(0, buses[b]!) }));
    expect(found(ranks, [log(four)])).toBe('0:2 1:0 2:3 3:1');
  });

  it('the GPU of a rank is the one with its device number, else with its local rank', () => {
    expect(found([rank(4, { device: device(1) }), rank(5, { device: device(3) })], [log(four)])).toBe(
      '4:1 5:3',
    );
    const alike = [0, 1].map((r) => rank(r, { device: device(0), localRank: r }));
    expect(found(alike, [log(four)])).toBe('0:0 1:1');
    expect(found([rank(0, { device: device(0) }), rank(1, { device: device(0) })], [log(four)])).toBe('');
  });

  it('the GPU of a rank is the only one there is, or the only busy one', () => {
    expect(found([rank(0), rank(1)], [log([gpu(0)])])).toBe('0:0 1:0');
    const idle = four.map((g) => ({ ...g, busySamples: g.index === 2 ? 9 : 0 }));
    expect(found([rank(0, { device: device(0) })], [log(idle)])).toBe('0:2');
  });

  it('the GPU of a rank is on the host that the log or its folder is named after', () => {
    const ranks = [0, 1].map((r) => rank(r, { host: `Node-${r}.cluster.local`, device: device(0) }));
    const logs = [log([gpu(0, { clock: 1 })], 'node-1'), log([gpu(0)], null, 'out/node-0/dmon.txt')];
    expect(found(ranks, logs)).toBe('1:0 0:0');
    expect(found(ranks, [log([gpu(0)]), log([gpu(0)], 'node-7', 'b')])).toBe('not dmon.txt not b');
    // One host: its name does not matter.
    expect(found([ranks[0]!], [log([gpu(0)], 'node-7')])).toBe('0:0');
  });

  it('comes from the log that saw more work', () => {
    const logs = [log([gpu(0, { busySamples: 3 })]), log([gpu(0, { busySamples: 30 })])];
    expect(placeGpus([rank(0)], logs).gpus.get(0)!.busySamples).toBe(30);
    expect(placeGpus([rank(0)], logs.toReversed()).gpus.get(0)!.busySamples).toBe(30);
  });

  it('comes from the last start of a restarted run, if that saw work', () => {
    const log1 = log([gpu(0, { busySamples: 300, untilNs: 1e9 })]);
    const busyIn = (n: number) => {
      const logs = [log1, log([gpu(0, { busySamples: n, untilNs: 2e9 })])];
      const both = [logs, logs.toReversed()].map((l) => placeGpus([rank(0)], l).gpus.get(0)!.busySamples);
      expect(both[0]).toBe(both[1]);
      return both[0];
    };
    expect(busyIn(30)).toBe(30);
    expect(busyIn(1)).toBe(300);
  });
});

it('IP addresses have no short form', () => {
  expect(['10.0.0.1', 'fe80::1', 'a.b.c', null].map(hostKey)).toEqual(['10.0.0.1', 'fe80::1', 'a', '']);
});
