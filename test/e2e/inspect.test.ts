import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import { describe, expect, it } from 'vitest';
import type { InspectReport } from '../../src/report/inspect-report.js';
import { inFolder, root, whyslow } from '../helpers/cli.js';
import { drawJson } from '../helpers/draw-trace.js';

const ZOO = join(root, 'zoo/fixtures');
const RANKS = join(root, 'test/fixtures/zoo-ranks');
const report = async (...args: string[]) => {
  const ran = await whyslow(['inspect', '--json', ...args]);
  expect(ran.stderr).toBe('');
  return JSON.parse(ran.stdout) as InspectReport;
};

async function write(folder: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

const trace = (rank: number | null, more: object = {}) =>
  drawJson('host 1  ProfilerStep#3 0-100 | cudaLaunchKernel 10-12 #1\ngpu 7  gemm 15-60 #1', {
    ...(rank === null ? {} : { distributedInfo: { rank, world_size: 4 } }),
    ...more,
  });

describe('inspect on what the repository ships', () => {
  it('says what is in a trace', async () => {
    const r = await report(join(ZOO, 'data_io_w0/rank0.json.gz'));
    expect(r).toMatchObject({ schema: 'whyslow/inspect/1', ranks: [0], devices: [{ name: 'NVIDIA H200' }] });
    expect(r.inputs).toMatchObject([
      { kind: 'kineto', events: 6732, rank_source: 'name', encodings: ['gzip'] },
    ]);
    expect(r.inputs[0]!.steps.map((s) => s.index)).toEqual([3, 4, 5]);
    expect(r.categories.find((c) => c.category === 'kernel')).toEqual({
      phase: 'X',
      category: 'kernel',
      events: 683,
    });
    expect(r.health.grade).toMatch(/good|usable/);
  });

  it('prints a page of at most 80 columns', async () => {
    const { stdout, code } = await whyslow(['inspect', join(ZOO, 'fat_trace')]);
    expect(code).toBe(0);
    expect(stdout).toContain('1 trace, 1 telemetry log: 11.1 k events');
    expect(stdout).toContain('with-stack');
    expect(stdout).not.toContain('\x1b');
    expect(stdout.split('\n').filter((l) => l.length > 80)).toEqual([]);
  });

  it('reads four ranks and leaves other files alone', async () => {
    const r = await report(join(RANKS, 'balanced'));
    expect(r.ranks).toEqual([0, 1, 2, 3]);
    expect(r.world_size).toBe(4);
    expect(r.ignored).toHaveLength(4);
    expect(new Set(r.inputs.map((i) => i.rank_source))).toEqual(new Set(['file']));
  });

  it('gives the same result with and without threads', async () => {
    const strip = ({ reading: _, ...rest }: InspectReport) => rest;
    const one = await report(join(RANKS, 'comms_bound'), '--jobs', '1');
    const many = await report(join(RANKS, 'comms_bound'), '--jobs', '3');
    expect(strip(many)).toEqual(strip(one));
  });
});

describe('input', () => {
  it('may come from standard input', async () => {
    const stdin = await readFile(join(ZOO, 'h2d_pinned/rank0.json.gz'));
    for (const bytes of [stdin, gunzipSync(stdin)]) {
      const { stdout, code } = await whyslow(['inspect', '-', '--json'], { stdin: bytes });
      expect(code).toBe(0);
      expect((JSON.parse(stdout) as InspectReport).inputs).toMatchObject([{ path: 'stdin', events: 1295 }]);
    }
  });

  it.each([
    [
      'whyslow',
      ['traces/step_10/rank-0-coord-0-0-trace.json.gz', 'traces/step_10/rank-1-coord-0-1-trace.json.gz'],
    ],
    [
      'torchtitan',
      [
        'profiling/traces/iteration_10/rank0_trace.json.gz',
        'profiling/traces/iteration_10/rank1_trace.json.gz',
      ],
    ],
    ['HTA', ['rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz', 'rank-1.Apr_03_18_51_38.1102.pt.trace.json.gz']],
    ['slime', ['train_overall_rank_0.json.gz', 'train_overall_rank_1.json.gz']],
    ['a folder a rank', ['rank_0/trace.json.gz', 'rank_1/trace.json.gz']],
  ])('finds ranks in the layout of %s', async (_, names) => {
    await inFolder(async (folder) => {
      await write(folder, Object.fromEntries(names.map((n) => [n, gzipSync(trace(null))])));
      const r = await report(folder);
      expect(r.inputs.map((i) => [i.rank, i.rank_source])).toEqual([
        [0, 'name'],
        [1, 'name'],
      ]);
    });
  });

  it("may be one of d9d's archives, or an archive with several traces", async () => {
    await inFolder(async (folder) => {
      const members = [0, 1].map((r) => ({
        header: { name: `rank-${r}-coord-${r}-trace.json`, size: 0 },
        body: trace(null),
      }));
      const tar = await packTar(
        members.map((m) => ({ ...m, header: { ...m.header, size: Buffer.byteLength(m.body) } })),
      );
      await write(folder, { 'step_10/all.tar.gz': gzipSync(tar) });
      const r = await report(folder);
      expect(r.inputs.map((i) => [i.rank, i.coordinates, i.encodings])).toEqual([
        [0, [0], ['gzip', 'tar']],
        [1, [1], ['gzip', 'tar']],
      ]);
    });
  });

  it('inspect lists event logs next to traces', async () => {
    await inFolder(async (folder) => {
      const rows = [0, 10, 20].map(
        (step) => `{"name": "training_step", "step": ${step}, "rank": 1, "duration_ms": 35.5}`,
      );
      await write(folder, {
        'rank0.json': trace(0),
        'cuda_event_profiler/cuda_events_rank_1.jsonl': `${rows.join('\n')}\n`,
      });
      const r = await report(folder);
      expect(r.inputs.map((i) => [i.kind, i.rank, i.events])).toEqual([
        ['events', 1, 3],
        ['kineto', 0, 3],
      ]);
      expect(r.inputs[0]!.event_log!.runs[0]!.phases).toEqual([
        { name: 'training_step', records: 3, medianMs: 35.5 },
      ]);
    });
  });

  it('input with contradicting ranks or repeated files is reported', async () => {
    await inFolder(async (folder) => {
      await write(folder, { 'rank0.json': trace(0), 'rank1.json': trace(0), 'other.json': trace(0) });
      const r = await report(folder, join(folder, 'rank0.json'));
      expect(r.problems.map((p) => p.code).sort()).toEqual([
        'duplicate-rank',
        'rank-conflict',
        'same-file-twice',
      ]);
      expect(r.health.grade).toBe('poor');
      expect(r.inputs).toHaveLength(3);
    });
  });
});

describe('a file that cannot be read', () => {
  const cases: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
    ['an empty file', '', /is empty/],
    ['a web page', '<!DOCTYPE html><html><body>Sign in</body></html>', /web page/],
    ['a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 0]), /binary/],
    ['other JSON', '{"hello": [1, 2, 3]}', /JSON of an unknown kind, with the keys "hello"/],
    ['a trace without events', '{"schemaVersion": 1, "traceEvents": []}', /no events/],
    ['a text', 'step 1 loss 2.3\n', /begins with "step 1 loss 2.3"/],
  ];

  it.each(cases)('%s: exit 2 and one clear sentence', async (_, content, reason) => {
    await inFolder(async (folder) => {
      await write(folder, { 'x.json': content });
      const { code, stdout, stderr } = await whyslow(['inspect', join(folder, 'x.json')]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(reason);
      expect(stderr).toMatch(/Files that can be read:\n {2}a PyTorch profiler trace .*\n {2}an event log /);
      expect(stderr).not.toMatch(/\n\s+at /);
    });
  });

  it.each([
    ['a missing file', ['inspect', 'no/such/file.json'], /no such file/],
    ['no path', ['inspect'], /missing required argument/],
    ['an unknown command', ['frobnicate'], /unknown command/],
    ['an unknown option', ['inspect', '--frob', 'x'], /unknown option/],
    ['a bad number', ['inspect', '--jobs', '0', 'x'], /whole number/],
  ])('%s: exit 2', async (_, args, reason) => {
    const { code, stderr } = await whyslow(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(reason);
  });

  it('does not stop the other files', async () => {
    await inFolder(async (folder) => {
      await write(folder, { 'rank0.json': trace(0), 'bad.json': '<html>' });
      const r = await report(join(folder, 'rank0.json'), join(folder, 'bad.json'));
      expect(r.inputs).toHaveLength(1);
      expect(r.problems).toMatchObject([{ code: 'unreadable-file' }]);
    });
  });

  it('gives what is before the cut of a gzip', async () => {
    await inFolder(async (folder) => {
      const whole = await readFile(join(ZOO, 'data_io_w0/rank0.json.gz'));
      await write(folder, { 'rank0.json.gz': whole.subarray(0, whole.length >> 1) });
      const r = await report(join(folder, 'rank0.json.gz'));
      expect(r.inputs[0]!.events).toBeGreaterThan(2000);
      expect(r.inputs[0]!.problems.map((p) => p.code)).toEqual(['truncated-gzip', 'truncated-json']);
      expect(r.health.grade).toBe('poor'); // no step is whole
    });
  });

  it('control characters in names are shown, not executed', async () => {
    await inFolder(async (folder) => {
      await write(folder, {
        'rank0.json': trace(0, { deviceProperties: [{ id: 0, name: '\x1b[31mEvil\u202e' }] }),
      });
      const { stdout } = await whyslow(['inspect', folder]);
      expect(stdout).toContain('\\x1b[31mEvil\\u202e');
      expect(stdout).not.toContain('\x1b');
    });
  });
});

describe('help', () => {
  it.each([
    ['--help', '$ whyslow diagnose'],
    ['inspect --help', '$ whyslow inspect'],
  ])('%s has an example', async (args, example) => {
    const { code, stdout } = await whyslow(args.split(' '));
    expect(code).toBe(0);
    expect(stdout).toContain(example);
  });
});
