import { describe, expect, it } from 'vitest';
import { dumpTrace, readTrace } from '../../../test/helpers/read-trace.js';
import { Trace } from '../../model/trace.js';

const event = (name: string, ts: number) =>
  `{"ph": "X", "cat": "cpu_op", "name": ${JSON.stringify(name)}, "pid": 1, "tid": 1, "ts": ${ts}, "dur": 2}`;
const names = (text: string | Uint8Array) =>
  dumpTrace(readTrace(text).trace).map((r) => JSON.parse((r as { name: string }).name) as string);
const codes = (text: string | Uint8Array) => readTrace(text).problems.map((p) => `${p.code} ${p.count}`);
const A = event('a', 10);
const B = event('b', 20);

describe('where the events are', () => {
  it.each([
    ['a bare array', `[${A},${B}]`],
    ['after other fields', `{"x": {"traceEvents": [${event('decoy', 1)}]}, "traceEvents": [${A},${B}]}`],
    ['before other fields', `{"traceEvents": [${A},${B}], "deviceProperties": [{"id": 0}]}`],
    ['behind a byte order mark', `\ufeff{"traceEvents":[${A},${B}]}`],
    ['with odd white space', `\n\t{ "traceEvents"\r\n:\n[ ${A}\n,\n${B} ] }`],
  ])('%s', (_, text) => {
    expect(names(text)).toEqual(['a', 'b']);
    expect(codes(text)).toEqual([]);
  });

  it('keeps the fields around them', () => {
    const text = `{"distributedInfo": {"rank": "2", "world_size": 8, "pg_config": [{"pg_name": "0", "pg_size": 2, "ranks": [0, 1]}]},
      "baseTimeNanoseconds": 1790857026000000001, "with_stack": 1, "traceEvents": [${A}],
      "deviceProperties": [{"id": 0, "name": "H]}200\\"", "numSms": 132}], "cuda_driver_version": 13000}`;
    const { header } = readTrace(text, [7]).trace;
    expect(header.distributed).toMatchObject({
      rank: 2,
      worldSize: 8,
      groups: [{ name: '0', ranks: [0, 1] }],
    });
    expect(header.baseTimeNanoseconds).toBe('1790857026000000001');
    expect(header.devices).toMatchObject([{ name: 'H]}200"', multiprocessors: 132 }]);
    expect(header.switches).toEqual(['with_stack']);
    expect(header.versions).toEqual({ cuda_driver_version: '13000' });
  });
});

describe('what is tolerated is counted', () => {
  it.each([
    ['an unescaped quote', `[${A.replace('"a"', '"a "q" a"')},${B}]`, ['a "q" a', 'b'], ['repaired-event 1']],
    ['garbage between events', `[${A}, oops, ${B}]`, ['a', 'b'], ['garbage-between-events 6']],
    ['values that are not events', `[${A}, null, 5, ${B}]`, ['a', 'b'], ['garbage-between-events 9']],
    ['a missing comma', `[${A} ${B}]`, ['a', 'b'], ['missing-comma 1']],
    ['trailing commas', `[${A},${B.replace('}', ',}')},]`, ['a', 'b'], ['trailing-comma 1']],
    ['no closing bracket', `{"traceEvents": [${A},${B}`, ['a', 'b'], ['missing-end 1']],
    ['a cut event', `{"traceEvents": [${A},${B.slice(0, 30)}`, ['a'], ['truncated-json 1']],
    ['text after the end', `[${A}] tail`, ['a'], ['trailing-data 4']],
    [
      'a header that is no JSON',
      `{"INFO": "a "quoted" b", "x": 1, "traceEvents": [${A}]}`,
      ['a'],
      ['malformed-header 1'],
    ],
    ['a control character', `[${A.replace('"a"', '"a\u0001"')}]`, ['a\u0001'], ['control-character 1']],
    ['an object without ph', `[{"name": "x"}, ${A}]`, ['a'], ['not-an-event 1']],
    ['no duration', `[${A.replace(', "dur": 2', '')}]`, ['a'], ['no-duration 1']],
    ['NaN', `[${A.replace('"dur": 2', '"dur": NaN')}]`, ['a'], ['non-finite-number 1', 'no-duration 1']],
  ])('%s', (_, text, expectedNames, expectedCodes) => {
    const { trace } = readTrace(text);
    const texts = dumpTrace(trace).map((r) => (r as { name: string }).name.slice(1, -1).replace(/\\"/g, '"'));
    expect(texts).toEqual(expectedNames);
    expect(codes(text)).toEqual(expectedCodes);
  });

  it('invalid UTF-8, with the position where it was first seen', () => {
    const bytes = Buffer.concat([
      Buffer.from(`[${A}, {"ph": "X", "name": "`),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('", "ts": 5, "dur": 1}]'),
    ]);
    const { problems, trace } = readTrace(bytes);
    expect(trace.rows).toBe(2);
    expect(problems).toMatchObject([
      { code: 'invalid-utf8', count: 1, first: { unit: 'byte', at: A.length + 3 } },
    ]);
  });

  it('no events at all', () => {
    expect(codes('{"schemaVersion": 1}')).toEqual(['no-trace-events 1']);
    expect(codes('{"traceEvents": []}')).toEqual([]);
  });
});

describe('times and ids', () => {
  it('keeps nanoseconds exact from their digits', () => {
    const text = `[${A.replace('"ts": 10', '"ts": 1661203465758835.123')},${B.replace('"ts": 20', '"ts": 1661203465758835.124')}]`;
    const { trace } = readTrace(text);
    expect(trace.baseNs).toBe(1661203465758835123n);
    expect([...trace.ts]).toEqual([0, 1]);
  });

  it('copes with a first event at time 0', () => {
    const { trace } = readTrace(
      `[${A.replace('"ts": 10', '"ts": 0')},${B.replace('"ts": 20', '"ts": 1661203465758835.124')}]`,
    );
    expect(trace.baseNs + BigInt(trace.ts[1]!)).toBe(1661203465758835124n);
  });

  it('keeps integers above 2^53 as text and long durations as numbers', () => {
    const text =
      '[{"ph":"X","name":"k","ts":1,"dur":5000000.5,"args":{"correlation":18446744073709551615,"External id":-1}}]';
    const { trace } = readTrace(text);
    expect(trace.dur[0]).toBe(5_000_000_500);
    expect(trace.wideIds).toEqual([
      { row: 0, field: 'correlation', text: '18446744073709551615' },
      { row: 0, field: 'external', text: '-1' },
    ]);
  });

  it('pairs begin and end events', () => {
    const text =
      '[{"ph":"B","name":"f","pid":1,"tid":1,"ts":10},{"ph":"B","name":"g","pid":1,"tid":1,"ts":12},{"ph":"E","pid":1,"tid":1,"ts":15},{"ph":"E","pid":1,"tid":1,"ts":20},{"ph":"E","pid":1,"tid":1,"ts":21}]';
    expect([...readTrace(text).trace.dur]).toEqual([10_000, 3000, 0, 0, 0]);
    expect(codes(text)).toEqual(['unmatched-begin-end 1']);
  });

  it('takes steps from begin and end events too', () => {
    const at = (ph: string, ts: number) =>
      `{"ph":"${ph}","cat":"user_annotation","name":"ProfilerStep#4","pid":1,"tid":1,"ts":${ts}}`;
    const { steps } = new Trace(readTrace(`[${at('B', 10)},${at('E', 15)}]`).trace);
    expect(steps).toMatchObject([{ index: 4, startNs: 0, endNs: 5000 }]);
  });
});
