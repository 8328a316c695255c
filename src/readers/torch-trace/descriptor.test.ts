import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCut } from '../../../test/helpers/readers.js';
import type { CompileLog } from '../../model/compile-log.js';
import { findReader } from '../registry.js';
import { torchLogReader } from '../torch-log/descriptor.js';
import { torchTraceReader } from './descriptor.js';

const fixture = (name: string) =>
  readFileSync(new URL(`../../../test/fixtures/torch-trace/${name}`, import.meta.url));
const read = (input: string | Uint8Array, cuts: readonly number[] = []): CompileLog =>
  readCut(torchTraceReader, input, cuts).log;
const secondsOf = (log: CompileLog): number =>
  log.times!.compilations.flatMap((c) => c.spans).reduce((s, { start, end }) => s + (end - start) / 1e9, 0);

const ragged = fixture('ragged.txt');
const timers = (name: string): readonly number[] => JSON.parse(fixture(name).toString()).calls_s;

describe('the log of a job with ragged batches and a graph break', () => {
  const log = read(ragged);

  it('has the compile time that the job measured around its own calls, within 2%', () => {
    const measured = timers('ragged.timers.json').reduce((a, b) => a + b, 0);
    expect(secondsOf(log) / measured).toBeGreaterThan(0.98);
    expect(secondsOf(log) / measured).toBeLessThanOrEqual(1);
  });

  it('names every recompiled function, with the guard that failed and its values', () => {
    expect(log.functions.map((f) => [f.name, f.recompiles, f.guards[0]?.kind, f.guards[0]?.subject])).toEqual(
      [
        ['forward', 3, 'size', 'x'],
        ['masked', 3, 'size', 'x'],
        ['torch_dynamo_resume_in_masked_at_50', 6, 'size', 'y'],
      ],
    );
    expect(log.functions[0]!.guards[0]!.values).toEqual(['16', '17', '18', '19']);
  });

  it('has the line and the reason of the graph break', () => {
    expect(log.graphBreaks).toMatchObject([{ line: 50, reason: 'Data-dependent branching', count: 4 }]);
  });

  it('counts the backward pass, which is compiled later, for its function', () => {
    const first = log.times!.compilations.find((c) => c.name === 'forward')!;
    expect(first.spans).toHaveLength(2);
    expect(first.spans[1]!.start).toBeGreaterThanOrEqual(first.spans[0]!.end);
    expect(first.cache).toMatchObject({ hits: 0, misses: 2 });
  });
});

const header = (header: object, line = 22) =>
  `V1118 12:00:00.403000 77 torch/_dynamo/utils.py:${line}] ${JSON.stringify(header)}\n`;
const ID = { frame_id: 0, frame_compile_id: 0, attempt: 0 };
const event = (name: string, ph: 'B' | 'E', at: number, id: object = ID) =>
  header({ chromium_event: {}, ...id, has_payload: 'd8' }) +
  `\t{\n\t"name": "${name}",\n\t"ts": ${1.7e15 + at * 1e6},\n\t"args": {\n\t"ts": 5\n\t},\n\t"ph": "${ph}"\n\t}\n`;
const metrics = (more: object = {}, id: object = ID) =>
  header({
    compilation_metrics: { co_name: 'f', co_filename: 'train.py', co_firstlineno: 3, ...more },
    ...id,
  });

describe('other logs', () => {
  it('a job that is killed while it compiles has the time until then, and the function’s name', () => {
    const log = read(
      header({ str: ['train.py', 0] }) +
        event('dynamo', 'B', 0) +
        header({ dynamo_start: { stack: [{ line: 9, name: 'g', filename: 0 }] }, ...ID }) +
        event('inductor_compile', 'B', 30),
    );
    expect(log.times!.compilations).toMatchObject([{ name: 'g', file: 'train.py', line: 9 }]);
    expect(secondsOf(log)).toBeCloseTo(30);
  });

  it('nested spans count once, also when an error leaves one open', () => {
    const log = read(
      event('dynamo', 'B', 0) +
        event('backend_compile', 'B', 1) +
        event('inductor_compile', 'B', 2) +
        metrics({ fail_type: 'BackendCompilerFailed' }) +
        event('dynamo', 'E', 5),
    );
    expect(secondsOf(log)).toBeCloseTo(5);
    expect(log.times!.compilations[0]!.failure).toBe('BackendCompilerFailed');
  });

  it('takes the time from the metrics when torch logged no events', () => {
    const log = read(metrics({ start_time: 1.7e9, entire_frame_compile_time_s: 4.5 }));
    expect(secondsOf(log)).toBeCloseTo(4.5);
  });

  it('an id that comes again after a reset is another compilation', () => {
    const twice = [0, 10].flatMap((at) => [
      event('dynamo', 'B', at),
      metrics(),
      event('dynamo', 'E', at + 1),
    ]);
    expect(read(twice.join('')).times!.compilations).toHaveLength(2);
  });

  it('reads the limit of recompiles, whose record names no function', () => {
    const again = { frame_id: 0, frame_compile_id: 8, attempt: 0 };
    const reached =
      'Dynamo recompile limit exceeded: exceeding the recompile_limit cache size limit (currently set to 8).';
    const reason = "0/7: tensor 'x' size mismatch at index 0. expected 23, actual 24";
    const log = read(
      metrics() +
        header({ compilation_metrics: { fail_reason: reached, recompile_reason: reason }, ...again }),
    );
    expect(log.functions).toMatchObject([
      {
        name: 'f',
        recompiles: 0,
        limit: { setting: 'recompile_limit', value: 8 },
        guards: [{ values: ['23', '24'] }],
      },
    ]);
  });

  it('reads the collectives in compiled code, and why code cannot be cached', () => {
    const log = read(
      event('dynamo', 'B', 0) +
        header({ artifact: { name: 'inductor_collective_schedule' }, ...ID, rank: 3, has_payload: 'd8' }) +
        '\t["torch.ops._c10d_functional.all_reduce_.default"]\n' +
        header({ artifact: { name: 'fx_graph_cache_bypass' }, ...ID, has_payload: 'd8' }) +
        '\t{"cache_bypass_reason": "a custom pass"}\n' +
        event('dynamo', 'E', 5),
    );
    expect(log.times).toMatchObject({
      rank: 3,
      compilations: [
        {
          collectives: ['torch.ops._c10d_functional.all_reduce_.default'],
          cache: { hits: 0, misses: 0, bypasses: 1, bypassReason: 'a custom pass' },
        },
      ],
    });
  });
});

describe('which files are TORCH_TRACE logs', () => {
  it('recognizes one from its first line, and a part of one that begins inside a record', () => {
    expect(findReader(ragged)).toBe(torchTraceReader);
    const within = ragged.subarray(ragged.indexOf('\t"name"'));
    expect(findReader(within)).toBe(torchTraceReader);
    expect(read(within).times!.compilations.length).toBeGreaterThan(5);
  });

  it.each([
    [
      'a TORCH_LOGS line',
      'V1118 12:00:00.403000 77 torch/_dynamo/guards.py:27] [0/1] [__recompiles] Recompiling f',
    ],
    ['a log of another program', 'I1118 12:00:00.403000 77 main.cc:3] {"a": 1}'],
    ['JSON', '{"traceEvents": []}'],
  ])('does not take %s for one', (_, text) => {
    expect(torchTraceReader.sniff(Buffer.from(text))).toBe(false);
  });

  it('leaves what a job under TORCH_LOGS wrote to the other reader', () => {
    const text =
      'V1118 12:00:00.403000 77 torch/_dynamo/guards.py:2791] [0/1] [__recompiles] Recompiling function f in train.py:3\n';
    expect(findReader(Buffer.from(text))).toBe(torchLogReader);
  });
});

describe('any bytes', () => {
  it('give the same however they are cut', () => {
    const whole = read(ragged);
    fc.assert(
      fc.property(fc.array(fc.nat(ragged.length), { maxLength: 6 }), (cuts) => {
        expect(read(ragged, cuts)).toEqual(whole);
      }),
      { numRuns: 20 },
    );
  });

  it('never throw, and times stay finite and within the log', () => {
    const flip = fc.tuple(fc.nat(ragged.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(flip, { maxLength: 40 }), fc.nat(ragged.length), (flips, end) => {
        const bytes = Uint8Array.from(ragged);
        for (const [at, value] of flips) bytes[at] = value;
        const { times } = read(bytes.subarray(0, end));
        for (const { spans } of times?.compilations ?? [])
          for (const { start, end: to } of spans) {
            expect(to).toBeGreaterThanOrEqual(start);
            expect(start).toBeGreaterThanOrEqual(times!.first);
            expect(to).toBeLessThanOrEqual(times!.last);
          }
      }),
      { numRuns: 60 },
    );
  });
});
