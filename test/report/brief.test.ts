import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compare } from '../../src/library/compare.js';
import { diagnose } from '../../src/library/diagnose.js';
import { briefCompare } from '../../src/render/brief/compare.js';
import { briefDiagnose } from '../../src/render/brief/diagnose.js';
import { briefTriage } from '../../src/render/brief/triage.js';
import { triage } from '../../src/report/triage-report.js';
import { readRecording } from '../../src/triage/replay.js';
import { inFolder, root } from '../helpers/cli.js';
import { pickled } from '../helpers/pickles.js';

const zoo = (name: string) => join(root, 'zoo', name);
const fixture = (name: string) => join(root, 'test/fixtures', name);

/** What holds for every brief answer. Returns its lines. */
function checked(text: string): readonly string[] {
  const lines = text.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(60);
  expect(text.endsWith('\n')).toBe(true);
  for (const line of lines) {
    expect(line.trim()).not.toBe('');
    expect(line.length).toBeLessThanOrEqual(400);
    // Neither boxes nor bars, neither colors nor other control characters.
    expect(line).not.toMatch(/[\u2500-\u259f\x00-\x1f\x7f\u202a-\u202e]/);
    expect(line).not.toMatch(/NaN|Infinity|undefined|null|\[object/);
  }
  expect(lines[0]).toMatch(/ \[[a-z-]+(?:\/[a-z0-9-]+, confidence (?:0|1|0\.\d+))?\]$/);
  return lines;
}

it.each([
  ['with fixes', zoo('fixtures/data_inline'), /^Data-bound: /],
  ['a GPU that computes all the time', zoo('fixtures/graph_captured'), /^GPU-bound: /],
  ['a job on a CPU', zoo('fixtures/cpu_only'), /^(?:Probably compute|Compute)-bound: /],
  ['several ranks, one of them late', zoo('ranks/h2d_rank/trace'), /rank 2/],
  ['several ranks, none late', zoo('ranks/healthy_buckets/log'), /^4 ranks measured, none is late$/m],
  ['a log alone', zoo('event-logs/data_bound.jsonl.gz'), /^Data-bound: /],
  ['a job that hangs', fixture('flight-recorder'), /^The job hangs: rank 2 /],
  ['a job that compiles', fixture('torch-trace'), /compil/],
])(
  'a brief answer has at most 60 plain lines, and the id of each fix in brackets: %s',
  async (_, path, answer) => {
    const report = await diagnose([path]);
    const text = briefDiagnose(report);
    expect(text).toMatch(answer);
    const lines = checked(text);
    const ids = lines.flatMap((line) => /^\d+\. \[([a-z0-9-]+)\]/.exec(line)?.[1] ?? []);
    expect(ids).toEqual(report.findings.slice(0, ids.length).map((f) => f.id));
    expect(ids.length).toBe(Math.min(11, report.findings.length));
  },
);

it('a brief answer without a verdict says what to record, in at most 60 plain lines', () =>
  inFolder(async (folder) => {
    const path = join(folder, 'rank0.json');
    writeFileSync(
      path,
      '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":1,"dur":2}]}',
    );
    const lines = checked(briefDiagnose(await diagnose([path])));
    expect(lines[0]).toMatch(/^Unknown: .* \[unknown\//);
    expect(lines).toContain('To get an answer:');
  }));

it('a brief comparison names what is gone and what is new by id, in at most 60 plain lines', async () => {
  const report = await compare([zoo('fixtures/cnn_nchw')], [zoo('fixtures/cnn_nhwc')]);
  const lines = checked(briefCompare(report));
  expect(lines[0]).toMatch(/ \[faster\]$/);
  expect(lines.filter((l) => /^(?:gone|new): /.test(l))).toEqual([
    expect.stringMatching(/^gone: \[nchw-convolutions\] .* \(T11\); predicted /),
    ...[
      ...report.findings.gone.slice(1).map((f) => `gone: [${f.id}] `),
      ...report.findings.new.map((f) => `new: [${f.id}] `),
    ].map((start) => expect.stringContaining(start)),
  ]);
});

it.each(['data_io_w0', 'gpu_bound_bf16'])(
  'a brief answer about a running job has at most 60 plain lines: %s',
  (name) => {
    const { recording } = readRecording(readFileSync(fixture(`triage/${name}.jsonl`)));
    const report = triage(recording, []);
    const lines = checked(briefTriage(report));
    expect(lines[0]).toContain(`[${report.verdict.bottleneck}/`);
    expect(lines.at(-1)).toMatch(/^watched for /);
  },
);

it('a brief answer about GPU memory names what holds it, in at most 60 plain lines', () =>
  inFolder(async (folder) => {
    const forward = [{ name: 'forward', filename: '/job/model.py', line: 9 }];
    const events = Array.from({ length: 40 }, (_, i) => ({
      action: 'alloc',
      addr: 4096 + i * 2 ** 20,
      size: 2 ** 20,
      frames: forward,
      stream: 0,
      time_us: i,
    }));
    const blocks = events.map(({ addr, size }) => ({
      address: addr,
      size,
      requested_size: size,
      state: 'active_allocated',
      frames: forward,
    }));
    const segments = [{ device: 0, address: 4096, total_size: 40 * 2 ** 20, blocks }];
    const path = join(folder, 'memory.pickle');
    writeFileSync(path, pickled({ segments, device_traces: [events], allocator_settings: {} }));
    const lines = checked(briefDiagnose(await diagnose([path])));
    expect(lines[0]).toMatch(/^Memory: the peak is 41\.9 MB .*\/memory-peak, /);
  }));
