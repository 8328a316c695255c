import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases, places } from '../helpers/cases.js';
import { dumpTrace, readTrace, type ScannerName } from '../helpers/read-trace.js';

/** A small document with one event for each path through the reader. */
const EVENTS = [
  '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 402, "tid": 402,\n  "ts": 3847130655347.069, "dur": 35171.827, "args": {"External id": 1,"Record function id": 0}}',
  '{"ph":"X","cat":"cpu_op","name":"aten::\\"to\\\\","pid":402,"tid":402,"ts":3847130655525.871,"dur":145.773,"args":{"External id":3,"Sequence number":37698,"Fwd thread id":0,"Input Dims":[[8, 512],[]],"Input type":["float",""],"Ev Idx":2}}',
  '{"ph": "s", "id": 309, "pid": 402, "tid": 402, "ts": 3847130655525.871, "cat": "fwdbwd", "name": "fwdbwd"}',
  '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 402, "tid": 402, "ts": 3847130655806.999, "dur": 7, "args": {"cbid": 211, "correlation": 77}}',
  '{"ph": "s", "id": 77, "pid": 402, "tid": 402, "ts": 3847130655806.999, "cat": "ac2g", "name": "ac2g", "bp": "e"}',
  '{"ph": "X", "cat": "kernel", "name": "void k<{lambda(float)#1}>(int)", "pid": 0, "tid": 7, "ts": 3847130655900.5, "dur": 12.25, "args": {"External id": 3, "correlation": 77, "stream": 7, "device": 0, "grid": [16, 15, 1], "block": [256, 1, 1], "est. achieved occupancy %": 31, "blocks per SM": Infinity}}',
  '{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": 3847130655950.1, "dur": 100, "args": {"correlation": 78, "Collective name": "allreduce", "Comms Id": 18446744073709551615, "In msg nelems": 1024, "Process Group Ranks": "[0, 1]"}}',
  '{"ph":"M","name":"process_name","pid":0,"tid":0,"ts":0,"args":{"name":"python \u00e9"}}',
  '{"name": "[memory]", "ph": "i", "s": "t", "pid": 402, "tid": 402, "ts": 3847130656000, "args": {"Bytes": -512, "Addr": 140000000000000}}',
  '{"ph":"B","name":"outer","pid":1,"tid":1,"ts":3847130655360},{"ph":"E","pid":1,"tid":1,"ts":3847135655360}',
];
const DOCUMENT = `{"schemaVersion": 1, "metadata": {"traceEvents": [1]}, "distributedInfo": {"rank": 3},\n "traceEvents": [\n${EVENTS.join(',\n')}\n], "traceName": "x\\"y"}`;
const bytes = Buffer.from(DOCUMENT);
const whole = readTrace(bytes);
const SCANNERS: readonly ScannerName[] = ['wasm', 'js'];

/** Where the events end: a cut after it loses no event. */
const eventsEnd = DOCUMENT.lastIndexOf(']');

/** A row without what later events add to it: a begin event's duration, a flow. */
function withoutLater(row: unknown): unknown {
  const { flows: _flows, dur, ...rest } = row as { flows?: unknown; dur: number; name: string };
  return { ...rest, dur: rest.name === '"outer"' ? 0 : dur };
}

describe.each(SCANNERS)('the %s scanner', (scanner) => {
  it('reads the document', () => {
    const { trace, problems } = readTrace(bytes, [1 << 20], scanner);
    expect(trace.rows).toBe(9);
    expect(dumpTrace(trace)).toEqual(dumpTrace(whole.trace));
    expect(problems.map((p) => `${p.code} ${p.count}`)).toEqual(['non-finite-number 1']);
    expect(trace.header.distributed?.rank).toBe(3);
  });

  it('gives the same model however the bytes are cut', () => {
    const expected = dumpTrace(whole.trace);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 }), (sizes) => {
        const { trace, problems } = readTrace(bytes, sizes, scanner);
        expect(dumpTrace(trace)).toEqual(expected);
        expect(problems).toEqual(whole.problems);
      }),
      { numRuns: cases(30, 200) },
    );
  });

  it('gives a prefix and a problem wherever the document is cut', () => {
    const rows = dumpTrace(whole.trace);
    for (const length of places(bytes.length)) {
      const { trace, problems } = readTrace(bytes.subarray(0, length), [1000], scanner);
      const got = dumpTrace(trace);
      expect(got.map(withoutLater)).toEqual(rows.slice(0, got.length).map(withoutLater));
      if (length < eventsEnd)
        expect(problems.some((p) => /truncated|missing-end|no-trace/.test(p.code))).toBe(true);
      else expect(got.length).toBe(rows.length);
    }
  });
});

/** torch_npu writes times as strings. */
describe.each(SCANNERS)('times in quotes, read by the %s scanner', (scanner) => {
  const withTimes = (write: (time: string) => string, times: readonly string[]) => {
    const events = times.map(
      (t, i) =>
        `{"ph":"X","cat":"cpu_op","name":"op${i}","ts":${write(t)},"pid":1,"tid":1,"dur":${write('2.5')}}`,
    );
    return Buffer.from(`{"schemaVersion": 1, "traceEvents": [${events.join(',')}]}`);
  };
  const decimal = fc
    .tuple(fc.bigInt({ min: 0n, max: 1_800_000_000_000_000n }), fc.integer({ min: 0, max: 999 }))
    .map(([us, ns]) => `${us}.${String(ns).padStart(3, '0')}`);
  const time = fc.oneof(decimal, fc.constantFrom('0', '-5', '12.', '1.5e3', '7e-2', '1234567890123.4567'));

  it('give the same model as the same times without quotes, however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(time, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 60 }),
        (times, chunk) => {
          const plain = readTrace(
            withTimes((t) => t, times),
            [1 << 20],
            scanner,
          );
          const quoted = readTrace(
            withTimes((t) => `"${t}"`, times),
            [chunk],
            scanner,
          );
          expect(dumpTrace(quoted.trace)).toEqual(dumpTrace(plain.trace));
          expect(quoted.problems.map((p) => p.code)).toEqual(plain.problems.map((p) => p.code));
        },
      ),
      { numRuns: cases(40, 400) },
    );
  });

  it.each(['"soon"', '""', '"1.2.3"', '"12 "', '"1,5"', '"\\u0031"', 'null'])(
    'are missing if the text is no number: %s',
    (text) => {
      const { trace, problems } = readTrace(
        withTimes(() => text, ['1']),
        [7],
        scanner,
      );
      expect(trace.rows).toBe(1);
      expect(problems.map((p) => p.code)).toEqual(expect.arrayContaining(['no-timestamp']));
    },
  );
});

/** Many more on demand: npm run fuzz 1000000. */
const DAMAGED = Number(process.env.WHYSLOW_FUZZ ?? cases(80, 1000));

describe('damaged bytes', () => {
  const damage = fc.array(
    fc.record({ at: fc.integer({ min: 0, max: bytes.length - 1 }), value: fc.integer({ min: 0, max: 255 }) }),
    { minLength: 1, maxLength: 8 },
  );

  it(
    `never crash the reader, and both scanners agree (${DAMAGED} cases)`,
    () => {
      fc.assert(
        fc.property(damage, fc.integer({ min: 16, max: 2000 }), (flips, chunk) => {
          const broken = Buffer.from(bytes);
          for (const f of flips) broken[f.at] = f.value;
          const a = readTrace(broken, [chunk], 'wasm');
          const b = readTrace(broken, [bytes.length], 'js');
          expect(a.trace.rows).toBeLessThanOrEqual(whole.trace.rows + flips.length * 2 + 2);
          expect(dumpTrace(a.trace)).toEqual(dumpTrace(b.trace));
          expect(a.problems).toEqual(b.problems);
        }),
        { numRuns: DAMAGED },
      );
    },
    Math.max(600_000, DAMAGED * 90),
  );
});
