import { describe, expect, it } from 'vitest';
import { RANK, RUN, read } from '../../../test/helpers/manifests.js';
import { MAX_ENTRIES, MAX_TEXT } from '../common/fields.js';
import { findReader } from '../registry.js';
import { MAX_BYTES } from './descriptor.js';

const readJson = (value: object) => read(JSON.stringify(value));
const kindOf = (text: string) => findReader(Buffer.from(text).subarray(0, 65536))?.id ?? null;
const pretty = (value: object) => JSON.stringify(value, null, 2);

describe('the forms', () => {
  it('reads what is known of a run', () => {
    const { manifest, problems } = read(`\ufeff${pretty(RUN)}\n`);
    expect(problems).toEqual([]);
    expect(manifest).toEqual({
      of: 'run',
      run: 'r-1',
      worldSize: 8,
      startedNs: RUN.started_ns,
      mesh: [
        { name: 'dp', size: 4 },
        { name: 'tp', size: 2 },
      ],
      versions: RUN.versions,
      command: RUN.command,
      launch: RUN.launch,
    });
    expect(structuredClone(manifest)).toEqual(manifest);
  });

  it.each([[undefined], ['torchrun train.py'], [[]], [['python', 7]], [['python', 'x'.repeat(2000)]]])(
    'repeats no launch command that is not whole: %j',
    (launch) => expect(readJson({ ...RUN, launch }).manifest).toMatchObject({ launch: null }),
  );

  it('reads what is known of a rank', () => {
    const { manifest, problems } = readJson(RANK);
    expect(problems).toEqual([]);
    expect(manifest).toEqual({
      of: 'rank',
      run: 'r-1',
      rank: 3,
      localRank: 3,
      host: 'node-1',
      pid: 4711,
      processStartedNs: null,
      launch: ['python', 'train.py'],
      device: {
        index: 3,
        name: 'NVIDIA H200',
        uuid: '1a2b3c4d-0000-1111-2222-333344445555',
        pci: '0:1a:0',
      },
      coordinates: { dp: 1, tp: 1 },
      dropped: { 'disk-full': 4 },
      windows: [
        { firstStep: 17, detached: false, slower: { low: 0.36, high: 0.43 } },
        { firstStep: 217, detached: null, slower: null },
      ],
      stacks: {
        samples: 80,
        lines: [
          {
            file: 'train.py',
            line: 87,
            function: 'step',
            source: 'ema.mul_(d).add_(p)',
            samples: 33,
            calls: ['torch._tensor.wrapped'],
          },
        ],
        background: [],
      },
      cores: null,
      cpu: null,
      loader: null,
      steps: null,
      parameters: {},
      smallCollectives: null,
      anchors: [
        { at: 'start', wallNs: 1_790_857_026e9, monotonicNs: 5e15 },
        { at: 'end', wallNs: 1_790_857_126e9, monotonicNs: 5.0001e15 },
      ],
    });
  });

  it('reads what capture saw of cores and loader', () => {
    const loader = {
      num_workers: 2,
      pin_memory: true,
      iterable: false,
      framework: 'lightning',
      workers_ran: 1.7,
    };
    const cores = { allowed: 16, quota: 3.5, ranks: 2 };
    expect(readJson({ ...RANK, cores, loader }).manifest).toMatchObject({
      cores,
      loader: {
        numWorkers: 2,
        pinMemory: true,
        iterable: false,
        framework: 'lightning',
        workersRan: 1,
        ready: null,
      },
    });
    expect(readJson(RANK).manifest).toMatchObject({ cores: null, cpu: null, loader: null });
    const wrong = readJson({
      ...RANK,
      cores: { allowed: 0, quota: -1 },
      loader: { num_workers: -1, pin_memory: 1 },
    });
    expect(wrong.manifest).toMatchObject({ cores: null, loader: { numWorkers: null, pinMemory: null } });
    expect(wrong.problems).toMatchObject([{ code: 'wrong-type', count: 2 }]);
  });

  it('reads the processor time of a process', () => {
    const cpu = { wall_s: 20, used_s: 30, threads: 2, affinity: '0-1', queued: 1.4, throttled: 1.5 };
    expect(readJson({ ...RANK, cpu }).manifest).toMatchObject({
      cpu: { used: 1.5, queued: 1.4, threads: 2, affinity: '0-1', threadQueued: null, throttled: 1 },
    });
    const hog = { thread_ran: 0.2, threads_by: 'code', background: [{ thread: 'metrics', ran: 0.8 }] };
    expect(readJson({ ...RANK, cpu: { ...cpu, ...hog } }).manifest).toMatchObject({
      cpu: { threadRan: 0.2, threadsBy: 'code', background: [{ thread: 'metrics', ran: 0.8 }] },
    });
    for (const wrong of [{ wall_s: 0 }, { wall_s: -1 }, { used_s: -1 }, { used_s: 'x' }])
      expect(readJson({ ...RANK, cpu: { ...cpu, ...wrong } }).manifest).toMatchObject({ cpu: null });
  });

  it('reads parameters by format and collectives of a few numbers', () => {
    const more = {
      parameters: { float64: 12 },
      small_collectives: { steps: 2, calls: 50, small: 48, small_ms: 3, short: 49, short_ms: 4 },
    };
    expect(readJson({ ...RANK, ...more }).manifest).toMatchObject({
      parameters: { float64: 12 },
      smallCollectives: { steps: 2, calls: 50, small: 48, smallMs: 3, short: 49, shortMs: 4 },
    });
    expect(readJson({ ...RANK, parameters: 3, small_collectives: { steps: 0 } }).manifest).toMatchObject({
      parameters: {},
      smallCollectives: null,
    });
  });

  it('reads a process without GPU and mesh, and the bus as numbers, as torch gives it', () => {
    const bare = { whyslow: 1, rank: 0, host: 'h', device: null, coordinates: null, anchors: [] };
    expect(readJson(bare)).toMatchObject({
      manifest: { device: null, coordinates: null, anchors: [], run: null },
      problems: [],
    });
    const device = { index: 0, name: 'A', pci_bus_id: 26, pci_domain_id: 0, pci_device_id: 1 };
    expect(readJson({ ...RANK, device }).manifest).toMatchObject({ device: { pci: '0:1a:1', uuid: null } });
    expect(readJson({ ...RANK, device: { type: 'cpu' } }).manifest).toMatchObject({ device: null });
  });
});

/** Title, changed manifest, expected fields, expected problems. */
const FAULTS: readonly [string, object, object, readonly string[]][] = [
  ['text for a rank', { ...RANK, rank: '3' }, { rank: null }, ['wrong-type×1']],
  ['impossible numbers', { ...RANK, pid: -1, rank: 1.5 }, { pid: null, rank: null }, ['wrong-type×2']],
  ['a list for a device', { ...RANK, device: [1] }, { device: null }, ['wrong-type×1']],
  [
    'coordinates, some of them none',
    { ...RANK, coordinates: { dp: 1, tp: 'x' } },
    { coordinates: { dp: 1 } },
    ['wrong-type×1'],
  ],
  [
    'anchors that are none',
    { ...RANK, anchors: [1, {}, { wall_ns: 'x' }, { wall_ns: 5 }] },
    { anchors: [{ at: '', wallNs: 5, monotonicNs: null }] },
    ['wrong-type×2'],
  ],
  [
    'windows that are none',
    { ...RANK, trace: { windows: [1, {}, { first_step: 5, last_step: 7, detached: 'no' }] } },
    { windows: [{ firstStep: 5, detached: null, slower: null }] },
    ['wrong-type×2'],
  ],
  ['a number for a run', { ...RUN, run: 7 }, { run: '7' }, []],
  ['no ranks at all', { ...RUN, world_size: 0 }, { worldSize: null }, []],
  ['names without sizes', { ...RUN, mesh: { axes: ['dp'], sizes: [] } }, { mesh: null }, ['broken-mesh×1']],
  [
    'an axis twice',
    { ...RUN, mesh: { axes: ['dp', 'dp'], sizes: [4, 2] } },
    { mesh: null },
    ['broken-mesh×1'],
  ],
  [
    'a size that is none',
    { ...RUN, mesh: { axes: ['dp'], sizes: ['8'] } },
    { mesh: null },
    ['broken-mesh×1'],
  ],
  ['a newer version', { ...RUN, whyslow: 2 }, { run: 'r-1' }, ['newer-version×1']],
  [
    'a host of 5000 letters',
    { ...RANK, host: 'h'.repeat(5000) },
    { host: 'h'.repeat(MAX_TEXT) },
    ['long-field×1'],
  ],
];

describe('faults', () => {
  it.each(FAULTS)('%s', (_, value, expected, problems) => {
    const result = readJson(value);
    expect(result.manifest).toMatchObject(expected);
    expect(result.problems.map((p) => `${p.code}×${p.count}`)).toEqual(problems);
    for (const p of result.problems) expect(p.consequence).toMatch(/\.$/);
  });

  it('keeps the first and the last of very many anchors, and bounds tables', () => {
    const anchors = Array.from({ length: 5000 }, (_, i) => ({ at: 'flush', wall_ns: i, monotonic_ns: i }));
    const dropped = Object.fromEntries(anchors.map((_, i) => [`code-${i}`, i]));
    const { manifest } = readJson({ ...RANK, anchors, dropped });
    if (manifest?.of !== 'rank') throw new Error('no rank');
    expect(manifest.anchors).toHaveLength(MAX_ENTRIES);
    expect([manifest.anchors[0]!.wallNs, manifest.anchors.at(-1)!.wallNs]).toEqual([0, 4999]);
    expect(Object.keys(manifest.dropped)).toHaveLength(MAX_ENTRIES);
  });

  it('accepts names of built-in properties as keys', () => {
    const text = '{"whyslow":1,"host":"h","coordinates":{"__proto__":1,"constructor":2}}';
    const { manifest } = read(text);
    if (manifest?.of !== 'rank') throw new Error('no rank');
    expect(Object.entries(manifest.coordinates!)).toEqual([
      ['__proto__', 1],
      ['constructor', 2],
    ]);
    expect(manifest.rank).toBeNull();
  });

  it('does not read more than 1 MiB', () => {
    const result = readJson({ ...RUN, schedule: 'x'.repeat(MAX_BYTES) });
    expect(result).toMatchObject({ manifest: null, problems: [{ code: 'too-large' }] });
  });

  it('reads Python’s NaN as unknown', () => {
    const result = read('{"whyslow":1,"run":"a","world_size":2,"started_ns":NaN}');
    expect(result.manifest).toMatchObject({ worldSize: 2, startedNs: null });
  });
});

describe('sniff', () => {
  const header = '{"whyslow":1,"run":"r","rank":3,"host":"h","anchors":[{"wall_ns":1}]}';
  const record = '{"name":"a","step":1,"rank":0,"duration_ms":1}';
  it.each([
    ['a run on one line', JSON.stringify(RUN), 'manifest'],
    ['a rank over several lines', `${pretty(RANK)}\n`, 'manifest'],
    ['a rank of 200 kB', pretty({ ...RANK, anchors: Array(2000).fill(RANK.anchors[0]) }), 'manifest'],
    ['a header and its records', `${header}\n${record}\n`, 'events'],
    ['a header alone', `${header.replace('"host":"h",', '')}\n`, 'events'],
    ['a request of `whyslow capture`', '{"whyslow":1,"id":"a","steps":3,"ranks":null}', 'events'],
    ['a trace with our field', '{"whyslow":1,"host":"h","traceEvents":[]}', 'kineto'],
    ['other JSON', '{"host":"h","world_size":8}', null],
    ['a list', `[${JSON.stringify(RUN)}]`, null],
    ['keys inside something else', '{"whyslow":1,"x":{"host":1}}', 'events'],
  ])('%s', (_, text, kind) => expect(kindOf(text)).toBe(kind));
});
