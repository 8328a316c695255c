import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCut } from '../../../test/helpers/readers.js';
import type { StackProfile } from '../../model/stack-profile.js';
import { isOwnFile } from '../common/own-code.js';
import { pySpyReader } from './descriptor.js';

const FILES = [
  'workers.txt',
  'collective.txt',
  'collective.json',
  'busy.txt',
  'busy.speedscope.json',
  'busy.raw.txt',
  'workers.raw.txt',
  'busy.svg',
];
const fixture = (name: string) =>
  readFileSync(new URL(`../../../test/fixtures/py-spy/${name}`, import.meta.url));

function read(input: string | Uint8Array, cuts: readonly number[] = []) {
  const result = readCut(pySpyReader, input, cuts);
  return result;
}
const mainOf = ([profile]: readonly StackProfile[]) => profile!.threads.filter((t) => t.isMain);

describe('what py-spy 0.4.3 wrote', () => {
  it.each(FILES)('%s is recognized, without a fault', (name) => {
    expect(pySpyReader.sniff(fixture(name))).toBe(true);
    const { profiles, problems } = read(fixture(name), [7, 300]);
    expect(problems).toEqual([]);
    expect(profiles).toHaveLength(1);
    expect(mainOf(profiles)).toHaveLength(1);
  });

  it('a dump has threads, what they do, and frames from the innermost', () => {
    const { profiles } = read(fixture('workers.txt'));
    expect(profiles[0]).toMatchObject({
      kind: 'dump',
      pid: 11548,
      command: '/venv/bin/python job.py workers',
    });
    expect(profiles[0]!.threads.map((t) => [t.name, t.isMain, t.isActive])).toEqual([
      ['MainThread', true, false],
      ['QueueFeederThread', false, false],
    ]);
    const frames = mainOf(profiles)[0]!.stacks[0]!.frames;
    expect(frames[0]).toEqual({
      function: '_PollLikeSelector.select',
      file: 'selectors.py',
      line: 415,
      isOwn: false,
    });
    expect(frames.filter((f) => f.isOwn).map((f) => f.line)).toEqual([29, 51]);
  });

  it('a flame graph tells what the raw format does', () => {
    const stacks = (name: string) =>
      mainOf(read(fixture(name)).profiles)[0]!.stacks.map(({ frames }) =>
        frames.map((frame) => `${frame.function} ${frame.line}`).join(' < '),
      );
    expect(stacks('busy.svg')[0]).toBe(stacks('busy.raw.txt')[0]);
    const [profile] = read(fixture('busy.svg')).profiles;
    expect(profile!.threads.map((t) => t.stacks.reduce((sum, s) => sum + s.samples, 0))).toEqual([199]);
  });

  it.each(['down', 'up'])(
    'a flame graph that grows %s: samples of a box without those of its callees',
    (way) => {
      const row = (depth: number) => 100 + (way === 'down' ? 16 : -16) * depth;
      const box = (name: string, depth: number, first: number, samples: number) =>
        `<g><title>${name} (${samples} samples, 1.00%)</title><rect x="0.0000%" y="${row(depth)}" width="1%" height="15" fg:x="${first}" fg:w="${samples}"/></g>`;
      // In no particular order, as py-spy writes them.
      const boxes = [
        box('fetch (a.py:3)', 2, 40, 30),
        box('&lt;module&gt; (a.py:1)', 1, 0, 90),
        box('step (a.py:2)', 2, 0, 40),
        box('all', 0, 0, 100),
        box('read (b.py:9)', 3, 45, 20),
        box('step (a.py:2)', 1, 90, 10),
      ];
      const svg = `<?xml version="1.0"?><svg xmlns:fg="x"><svg id="frames">${boxes.join('')}</svg></svg>`;
      const found = read(svg).profiles[0]!.threads.flatMap((t) =>
        t.stacks.map((s) => `${s.frames.map((f) => f.function).join('<')} ${s.samples}`),
      );
      expect(found.sort()).toEqual([
        '<module> 20',
        'fetch<<module> 10',
        'read<fetch<<module> 20',
        'step 10',
        'step<<module> 40',
      ]);
    },
  );

  it('a flame graph cut short has the stacks before the cut', () => {
    const whole = fixture('busy.svg');
    const { profiles, problems } = read(whole.subarray(0, whole.indexOf('augment')));
    expect(problems.map((p) => p.code)).toEqual(['cut-picture']);
    expect(mainOf(profiles)[0]!.stacks[0]!.frames[0]!.function).toBe('Slow.__getitem__');
  });

  it('text and JSON tell the same', () => {
    const lines = (name: string) =>
      mainOf(read(fixture(name)).profiles)[0]!.stacks[0]!.frames.map((f) => f.line);
    expect(lines('collective.json')).toEqual(lines('collective.txt'));
  });

  it('raw and speedscope add samples up', () => {
    expect(mainOf(read(fixture('busy.raw.txt')).profiles)[0]!.stacks).toMatchObject([{ samples: 99 }]);
    expect(mainOf(read(fixture('busy.speedscope.json')).profiles)[0]!.stacks).toMatchObject([
      { samples: 39 },
    ]);
  });

  it('py-spy stacks: a DataLoader worker is distinguished from the training thread', () => {
    const threads = read(fixture('workers.raw.txt')).profiles[0]!.threads;
    expect(
      threads
        .filter((t) => t.name === 'MainThread')
        .map((t) => t.isMain)
        .toSorted(),
    ).toEqual([false, true]);
  });

  it('several dumps may follow one another', () => {
    const twice = Buffer.concat([fixture('busy.txt'), fixture('collective.txt')]);
    expect(read(twice).profiles.map((p) => p.pid)).toEqual([11549, 11550]);
  });
});

describe('other files', () => {
  it.each([
    '',
    'Process 7 is slow\n',
    'a;b 3\n',
    '{"traceEvents": []}',
    '[{"ph": "X", "name": "a (b:1)"}]',
    'loss (train) 3\n',
  ])('%j is none of these', (text) => expect(pySpyReader.sniff(Buffer.from(text))).toBe(false));

  it.each(FILES)('%s never throws, whatever bytes are flipped or missing', (name) => {
    const bytes = fixture(name);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 10 }),
        fc.nat(bytes.length),
        (flips, end) => {
          const broken = Uint8Array.from(bytes);
          for (const [at, value] of flips) broken[at] = value;
          for (const { threads } of read(broken.subarray(0, end)).profiles)
            for (const { stacks } of threads)
              expect(stacks.every((s) => s.frames.length > 0 && s.samples > 0)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });
});

it('survives JSON of any shape', () => {
  const value = fc.oneof(fc.anything({ maxDepth: 2 }), fc.constant([{ toString: 1, valueOf: 1 }]));
  const thread = fc.record({
    pid: value,
    thread_id: value,
    os_thread_id: value,
    owns_gil: value,
    active: value,
    frames: value,
  });
  const profile = fc.record({
    type: fc.constant('sampled'),
    name: value,
    samples: fc.oneof(value, fc.array(value)),
  });
  const speedscope = fc.record({
    profiles: fc.array(profile),
    shared: fc.record({ frames: value }),
    name: value,
  });
  const text = (object: object) => JSON.stringify(object, (_, v) => (typeof v === 'bigint' ? String(v) : v));
  const schema = '{"$schema":"https://www.speedscope.app/file-format-schema.json",';
  fc.assert(
    fc.property(fc.array(thread, { minLength: 1 }), speedscope, (threads, file) => {
      expect(read(text(threads)).profiles).toBeInstanceOf(Array);
      expect(read(schema + text(file).slice(1)).profiles).toBeInstanceOf(Array);
    }),
    { numRuns: 200 },
  );
});

it.each([
  ['train.py', true],
  ['src/data.py', true],
  ['/job/torch/x.py', true],
  ['torch/utils/data/dataloader.py', false],
  ['threading.py', false],
  ['<frozen importlib._bootstrap>', false],
  ['/venv/lib/python3.11/site-packages/mine.py', false],
  ['', false],
])('%s: the job’s own is %s', (file, own) => expect(isOwnFile(file)).toBe(own));

describe('a file of torch.distributed.debug (torch 2.13)', () => {
  const DUMP = `PARTIAL DATA: 2/4 workers responded
  Rank 2: TimeoutError:
  Rank 3: ConnectionError: refused

=== Rank 0: http://vm:52165/handler/dump_traceback? ===
Current thread 0x00007f55d6ffd6c0 (most recent call first):
  <no Python frame>

Thread 0x00007f55fd433b80 (most recent call first):
  File "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3252 in all_reduce
  File "/job/train.py", line 9 in step
  File "/job/train.py", line 12 in <module>

=== Rank 1: http://vm:34011/handler/pyspy_dump?nonblocking=1 ===
Process 4711: python train.py
Python v3.11.2 (/venv/bin/python3.11)

Thread 4711 (idle): "MainThread"
    save (train.py:7)
    <module> (train.py:11)

=== Rank 2: http://vm:56011/handler/dump_traceback? ===
Error: 408
=== Rank 3: http://vm:56012/handler/dump_traceback? ===
Error: 503`;

  it('has the stacks of each rank, of faulthandler and of py-spy, and ranks that did not answer', () => {
    expect(pySpyReader.sniff(Buffer.from(DUMP))).toBe(true);
    const { profiles, problems } = read(DUMP, [50, 700]);
    expect(problems).toEqual([]);
    expect(profiles.map((p) => [p.rank, p.pid, p.state])).toEqual([
      [0, null, 'runs'],
      [1, 4711, 'runs'],
      [2, null, 'silent'],
      [3, null, 'gone'],
    ]);
    const mains = profiles.slice(0, 2).flatMap((p) => p.threads.filter((t) => t.isMain));
    expect(mains.map((t) => t.stacks[0]!.frames.map((f) => `${f.function}:${f.line}`))).toEqual([
      ['all_reduce:3252', 'step:9', '<module>:12'],
      ['save:7', '<module>:11'],
    ]);
  });

  it('may be cut anywhere', () => {
    for (let end = 0; end <= DUMP.length; end += 7) {
      const { profiles } = read(DUMP.slice(0, end));
      expect(profiles.length).toBeLessThanOrEqual(4);
    }
  });
});
