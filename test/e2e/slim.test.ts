import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { slim } from '../../src/library/rewrite.js';
import { SOAK } from '../helpers/cases.js';
import { inFolder, root, whyslow } from '../helpers/cli.js';
import { type ChromeEvent, faultsOf, readChrome } from '../helpers/strict-chrome.js';

const ZOO = join(root, 'zoo/fixtures');
const traceOf = (name: string) => join(ZOO, name, 'rank0.json.gz');
const KEEP_ALL = { steps: null, drop: [], max: null, force: false } as const;

/** Of each kind one: every one takes a second. The last two are like one before, with more events. */
const LOOPS = ['cpu_only', 'data_io_w0', 'epoch_respawn', 'graph_captured', 'launch_compiled', 'fat_trace'];
const stepsIn = (events: readonly ChromeEvent[]) =>
  events.flatMap((e) =>
    e.ph === 'X' && e.cat === 'user_annotation' ? (/^ProfilerStep#(\d+)/.exec(e.name!)?.[1] ?? []) : [],
  );

describe('a slimmed trace', () => {
  it.each(SOAK ? LOOPS : LOOPS.slice(0, 4))(
    'a slimmed trace of %s opens in Perfetto and gives the same verdict over its steps',
    (name) =>
      inFolder(async (folder) => {
        const whole = await diagnose(traceOf(name), { jobs: 1 });
        const { first, last } = whole.step;
        const steps = { first: first!, last: last! };
        const out = join(folder, 'slim.json');
        await slim(traceOf(name), { ...KEEP_ALL, out, steps });
        const chrome = readChrome(out);
        expect(faultsOf(chrome)).toEqual([]);
        const before = await diagnose(traceOf(name), { jobs: 1, steps });
        const after = await diagnose(out, { jobs: 1, steps });
        expect(after.verdict).toEqual(before.verdict);
        // Calls that outlast their caller by a rounding were cut, so the cost of recording differs in the fourth digit.
        const near = (ms: number) => expect.closeTo(ms, 1) as number;
        const { ms, times_ms } = before.step;
        expect(after.step).toEqual({ ...before.step, ms: near(ms!), times_ms: times_ms.map(near) });
        expect(after.findings.map((f) => f.id)).toEqual(before.findings.map((f) => f.id));
      }),
  );

  it('a trace slimmed of its operators keeps its step, and is marked', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'slim.json.gz');
      await slim(traceOf('launch_compiled'), { ...KEEP_ALL, out, drop: ['cpu_op', 'python_function'] });
      const whole = await diagnose(traceOf('launch_compiled'), { jobs: 1 });
      const slimmed = await diagnose(out, { jobs: 1 });
      expect(slimmed.step.ms! / whole.step.ms!).toBeCloseTo(1, 2);
      expect(slimmed.verdict.bottleneck).toBe(whole.verdict.bottleneck);
      expect(slimmed.health.problems.map((p) => p.code)).toContain('slimmed');
      // Without operators, making batches looks like any other work of the host.
      expect(slimmed.verdict.confidence).toBeLessThanOrEqual(0.6);
    }));

  it('a slimmed trace has the steps asked for and the one before', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'slim.json.gz');
      const done = await slim(traceOf('data_io_w0'), { ...KEEP_ALL, out, steps: { first: 5, last: 5 } });
      expect(done.steps).toEqual([4, 5]);
      const { events, fields } = readChrome(out);
      expect(stepsIn(events)).toEqual(['4', '5']);
      // Tracks that were added have names.
      const added = events.filter((e) => e.ph === 'M' && /\(\d+\)$/.test(String(e.args?.name)));
      expect(done.events).toBe(events.length - added.length);
      expect(done.of).toBeGreaterThan(1.3 * done.events);
      expect(fields).toMatchObject({ schemaVersion: 1 });
      const { step } = await diagnose(out, { jobs: 1 });
      expect(step).toMatchObject({ first: 5, last: 5 });
    }));

  it('leaves out categories, and flows whose ends are gone', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'slim.json');
      await slim(traceOf('data_io_w0'), { ...KEEP_ALL, out, drop: ['cpu_op'] });
      const operators = readChrome(out);
      expect(faultsOf(operators)).toEqual([]);
      expect(operators.events.filter((e) => e.cat === 'cpu_op' || e.cat === 'fwdbwd')).toEqual([]);
      expect(operators.events.some((e) => e.cat === 'ac2g')).toBe(true);
      await slim(traceOf('data_io_w0'), { ...KEEP_ALL, out, force: true, drop: ['kernel', 'gpu_memset'] });
      const host = readChrome(out);
      expect(faultsOf(host)).toEqual([]);
      expect(host.events.some((e) => e.cat === 'fwdbwd')).toBe(true);
    }));

  it.each(SOAK ? [15e6, 4e6] : [4e6])('a slimmed trace has at most %d bytes of JSON', (max) =>
    inFolder(async (folder) => {
      const out = join(folder, 'slim.json');
      const done = await slim(traceOf('adam_forloop'), { ...KEEP_ALL, out, max });
      expect(readFileSync(out).length).toBeLessThanOrEqual(max);
      expect(readFileSync(out).length).toBeGreaterThan(max / 4);
      const chrome = readChrome(out);
      expect(faultsOf(chrome)).toEqual([]);
      expect(stepsIn(chrome.events).length).toBeGreaterThanOrEqual(1);
      expect(done.steps![0]).toBe(3);
    }),
  );

  it('a slimmed trace is the whole trace where that fits', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'slim.json');
      const done = await slim(traceOf('cpu_only'), { ...KEEP_ALL, out, max: 1e9 });
      expect(done).toMatchObject({ steps: null, dropped: [] });
      expect(done.events).toBe(done.of);
    }));
});

const slice = (ts: number | string, dur: number, more: object = {}) => ({
  ...{ ph: 'X', cat: 'kernel', name: 'k', pid: 0, tid: 7, args: { stream: 7 } },
  ts,
  dur,
  ...more,
});

describe('what Perfetto would drop', () => {
  const slimmed = (text: string) =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, 'in.json'), text);
      const done = await slim(join(folder, 'in.json'), { ...KEEP_ALL, out: join(folder, 'out.json') });
      return { done, chrome: readChrome(join(folder, 'out.json')) };
    });
  const trace = (events: readonly object[]) => JSON.stringify({ schemaVersion: 1, traceEvents: events });

  it('gets a track of its own, with a name', async () => {
    const { chrome, done } = await slimmed(
      trace([slice(10, 10), slice(15, 10), slice(18, 9), slice(40, 5), slice(41, 2)]),
    );
    // Their names are no events of the input.
    expect([done.events, done.of]).toEqual([5, 5]);
    expect(faultsOf(chrome)).toEqual([]);
    const kernels = chrome.events.filter((e) => e.ph === 'X');
    expect(kernels.map((k) => k.ts)).toEqual([10, 15, 18, 40, 41]);
    expect(new Set(kernels.map((k) => k.tid)).size).toBe(3);
    const names = chrome.events.filter((e) => e.ph === 'M').map((e) => e.args!.name);
    expect(names).toEqual(['7 (2)', '7 (3)']);
  });

  it('a slice is cut where it outlasts its caller by a rounding error', async () => {
    const { chrome } = await slimmed(
      trace([slice(10, 10, { cat: 'cpu_op' }), slice(15, 5.4, { cat: 'cpu_op' }), slice(30, 1)]),
    );
    expect(chrome.events.map((e) => [e.tid, e.dur])).toEqual([
      [7, 10],
      [7, 5],
      [7, 1],
    ]);
  });

  it('keeps all digits of times since 1970', async () => {
    const text = trace([]).replace(
      '[]',
      '[{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":1794704799155734.177,"dur":2.001,"args":{"id":18446744073709551615}},' +
        '{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":1794704799155735.178,"dur":2.5}]',
    );
    await inFolder(async (folder) => {
      writeFileSync(join(folder, 'in.json'), text);
      await slim(join(folder, 'in.json'), { ...KEEP_ALL, out: join(folder, 'out.json') });
      const out = readFileSync(join(folder, 'out.json'), 'utf8');
      // Times count from a second of the day before: doubles hold that to the ns.
      const base = 1794704799n - 86400n;
      expect(out).toContain(`"baseTimeNanoseconds":${base}000000000`);
      expect(out).toContain('"ts":86400155734.177,"dur":2.001,"args":{"id":18446744073709551615}');
      // It overlaps by 1 µs.
      expect(out).toContain('"tid":1000000000,"ts":86400155735.178');
    });
  });

  it('leaves whole µs since 1970 as they are', async () => {
    const { chrome } = await slimmed(trace([slice(1794704799155734, 2), slice(1794704799155737, 2)]));
    expect(chrome.events.map((e) => e.ts)).toEqual([1794704799155734, 1794704799155737]);
    expect(chrome.fields).not.toHaveProperty('baseTimeNanoseconds');
  });

  it('a thread with a negative id gets another one, in all of its events', async () => {
    const at = (ph: string, ts: number, more: object = {}) => ({
      ...{ ph, ts, cat: 'cpu_op', name: 'x', pid: 9, tid: -5, id: 1 },
      ...more,
    });
    const { chrome } = await slimmed(
      trace([
        at('X', 10, { dur: 10, tid: 9 }),
        ...[at('X', 15, { dur: 10 }), at('s', 16, { cat: 'ac2g' }), at('i', 17), slice(30, 1)],
        at('f', 30, { cat: 'ac2g', pid: 0, tid: 7, bp: 'e' }),
        at('M', 0, { name: 'thread_name', args: { name: 'loader' } }),
      ]),
    );
    expect(faultsOf(chrome)).toEqual([]);
    const [named, ...others] = chrome.events.filter((e) => e.tid === 1_000_000_000);
    expect(named).toMatchObject({ ph: 'M', name: 'thread_name', pid: 9, args: { name: '-5' } });
    expect(others.map((e) => e.ph)).toEqual(['X', 's', 'i', 'M']);
    expect(others.at(-1)!.args).toEqual({ name: 'loader' });
  });

  it('keeps pairs together', async () => {
    const pair = (ph: string, ts: number) => ({ ph, name: 'x', pid: 1, tid: 1, ts });
    const step = (n: number, ts: number) =>
      slice(ts, 100, { cat: 'user_annotation', name: `ProfilerStep#${n}`, pid: 1, tid: 1 });
    const events = [
      step(1, 0),
      step(2, 100),
      step(3, 200),
      pair('B', 50),
      pair('E', 250),
      pair('B', 260),
      pair('E', 400),
    ];
    await inFolder(async (folder) => {
      writeFileSync(join(folder, 'in.json'), trace([...events, slice(10, 5), slice(110, 5), slice(210, 5)]));
      await slim(join(folder, 'in.json'), {
        ...KEEP_ALL,
        out: join(folder, 'out.json'),
        steps: { first: 3, last: 3 },
      });
      const chrome = readChrome(join(folder, 'out.json'));
      expect(faultsOf(chrome)).toEqual([]);
      expect(pairsIn(chrome)).toEqual([260, 400]);
    });
  });

  it('drops the end of a begin that it drops', async () => {
    const pair = (ph: string, ts: number, cat?: string) => ({ ph, cat, name: 'x', pid: 1, tid: 1, ts });
    const events = [pair('B', 10, 'kept'), pair('B', 20, 'python_function'), pair('E', 30), pair('E', 40)];
    await inFolder(async (folder) => {
      writeFileSync(join(folder, 'in.json'), trace(events));
      const out = join(folder, 'out.json');
      await slim(join(folder, 'in.json'), { ...KEEP_ALL, out, drop: ['python_function'] });
      expect(pairsIn(readChrome(out))).toEqual([10, 40]);
    });
  });
});

/** Times of begin and end events. */
function pairsIn({ events }: ReturnType<typeof readChrome>): number[] {
  return events.flatMap((e) => (e.ph === 'B' || e.ph === 'E' ? e.ts! : []));
}

describe('a broken trace', () => {
  const good = gunzipSync(readFileSync(traceOf('cpu_only'))).toString('latin1');

  it.each([
    ['cut', (t: string) => t.slice(0, t.length * 0.6)],
    ['with an unescaped quote', (t: string) => t.replace('"name": "aten::', '"name": "at"en::')],
    [
      'with an unescaped quote in the last event',
      (t: string) => t.replace(/"name": "Record Window End"/, '"name": "Record" Window End"'),
    ],
    ['with NaN', (t: string) => t.replace(/"External id": \d+/, '"External id": NaN')],
    ['with control characters', (t: string) => t.replace('"name": "aten::', '"name": "\u0001\taten::')],
    [
      'with bytes that are not UTF-8',
      (t: string) => t.replace('"name": "aten::', '"name": "\u00ff\u00featen::'),
    ],
    ['with a path of Windows', (t: string) => t.replace('"name": "aten::', '"name": "C:\\Users\\new\\')],
    ['with garbage between events', (t: string) => t.replace('},', '}, oops, ')],
  ])('%s is written as far as it can be read', (_, damage) =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, 'in.json.gz'), gzipSync(Buffer.from(damage(good), 'latin1')));
      const out = join(folder, 'out.json');
      const done = await slim(join(folder, 'in.json.gz'), { ...KEEP_ALL, out });
      const chrome = readChrome(out);
      expect(faultsOf(chrome)).toEqual([]);
      const all = (JSON.parse(good) as { traceEvents: object[] }).traceEvents.length;
      expect(chrome.events.length).toBeGreaterThan(damage(good).length < good.length ? all / 2 : all - 3);
      const [before, after] = [
        await diagnose(join(folder, 'in.json.gz'), { jobs: 1 }),
        await diagnose(out, { jobs: 1 }),
      ];
      expect(after.verdict).toEqual(before.verdict);
      expect(done.events).toBe(chrome.events.length);
    }),
  );
});

describe('whyslow slim', () => {
  it('says what it kept, and what is wrong', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'o.json.gz');
      const run = (...args: string[]) => whyslow(['slim', ...args]);
      const done = await run(traceOf('cpu_only'), '-o', out, '--steps', '4-5');
      expect(done).toMatchObject({ code: 0, stderr: '' });
      expect(done.stdout).toMatch(
        /o\.json\.gz: \S+(?: k)? of \S+(?: k)? events, steps 3 to 5, \S+ \wB of JSON\n$/,
      );
      const again = await run(traceOf('cpu_only'), '-o', out);
      expect(again).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/exists; --force replaces it\n$/) as string,
      });
      const none = await run(traceOf('cpu_only'), '-o', join(folder, 'n.json'), '--steps', '99');
      expect(none.stderr).toMatch(/^whyslow: none of these steps was recorded; steps \d+ to \d+ were\n$/);
      const small = await run(traceOf('cpu_only'), '-o', join(folder, 'n.json'), '--max', '10kB');
      expect(small.stderr).toMatch(/^whyslow: --max is too small: the smallest part takes \S+ \wB\n$/);
      const other = await run(join(root, 'package.json'), '-o', join(folder, 'n.json'));
      expect(other.stderr).toMatch(/package\.json is no PyTorch profiler trace: /);
      expect((await run(ZOO, '-o', join(folder, 'n.json'))).stderr).toMatch(/is a directory/);
      expect((await run('-', '-o', join(folder, 'n.json'))).stderr).toMatch(
        /standard input can be read only once/,
      );
      expect(readdirSync(folder)).toEqual(['o.json.gz']);
      const before = readFileSync(out);
      const own = await run(out, '-o', out, '--force');
      expect(own.stderr).toMatch(/o\.json\.gz is one of the files to read: choose another name\n$/);
      expect(readFileSync(out).equals(before)).toBe(true);
      expect((await run(out, '-o', folder, '--force')).stderr).toMatch(/is a folder: name a file in it\n$/);
      const misspelt = await run(out, '-o', join(folder, 'm.json'), '--drop', 'cpu_ops');
      expect(misspelt.stderr).toMatch(
        /^whyslow: no event is of category cpu_ops → .*categories here are .*cpu_op,/,
      );
      expect(misspelt.stdout).not.toContain('without');
    }));
});
