import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../test/helpers/read-trace.js';

const EVENT = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}';
const trace = (fields: string) => `{${fields}, "traceEvents": [${EVENT}], "traceName": "after"}`;
const codes = (text: string) => readTrace(text).problems.map((p) => `${p.code} ${p.count}`);
const headerOf = (fields: string, chunk = 1 << 20) => readTrace(trace(fields), [chunk]).trace.header;

/** Values that JavaScript cannot turn into a number or a text, or not into the one that is meant. */
const ODD = [
  '{"toString": 1, "valueOf": 1}',
  `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
  '{"__proto__": {"length": 3}}',
  '["1"]',
  '[[]]',
  '1e999',
  '-1',
  '0.5',
  '9007199254740993',
  '"x"',
  'true',
  'null',
];
const NUMBERS = ['id', 'totalGlobalMem', 'computeMajor', 'computeMinor', 'numSms', 'warpSize'];
const GROUP = ['pg_name', 'pg_desc', 'backend_config', 'pg_size', 'ranks'];

describe('fields of the wrong type', () => {
  it.each(ODD)('%.40s', (odd) => {
    const all = (keys: readonly string[]) => `{${keys.map((key) => `"${key}": ${odd}`).join(', ')}}`;
    const info = `"backend": ${odd}, "rank": ${odd}, "world_size": ${odd}, "nccl_version": ${odd}`;
    const fields = [
      ...['schemaVersion', 'displayTimeUnit', 'host_name', 'with_stack', 'x_version'].map(
        (k) => `"${k}": ${odd}`,
      ),
      `"baseTimeNanoseconds": ${odd}`,
      `"deviceProperties": [${odd}, ${all([...NUMBERS, 'name'])}]`,
      `"distributedInfo": {${info}, "pg_config": [${odd}, ${all(GROUP)}, {"ranks": [${odd}, 0, 1]}]}`,
    ];
    const { devices, distributed, switches, ...header } = headerOf(fields.join(', '));
    expect(header.traceName).toBe('after');
    expect(typeof (header.displayTimeUnit ?? '')).toBe('string');
    for (const device of devices) expect(device.id).toBeGreaterThanOrEqual(0);
    expect(distributed!.rank ?? 0).toBeGreaterThanOrEqual(0);
    expect(distributed!.groups.at(-1)!.ranks.slice(-2)).toEqual([0, 1]);
    expect(structuredClone(header)).toBeDefined();
    for (const field of ['deviceProperties', 'distributedInfo']) headerOf(`"${field}": ${odd}`);
  });

  it('are counted', () => {
    expect(codes(trace('"distributedInfo": {"rank": {}, "world_size": 2, "backend": []}'))).toEqual([
      'wrong-type 2',
    ]);
    expect(codes(trace('"distributedInfo": {"rank": "3", "world_size": 4, "pg_config": null}'))).toEqual([]);
  });

  it('are no switch that is on', () => {
    expect(headerOf('"with_stack": {"toString": 1}, "record_shapes": [1], "with_flops": 0').switches).toEqual(
      [],
    );
    expect(headerOf('"with_stack": true, "record_shapes": "1", "with_flops": 1').switches).toHaveLength(3);
  });
});

describe('many and large fields', () => {
  const many = (count: number, size: number) =>
    Array.from({ length: count }, (_, i) => `"k${i}": "${'A'.repeat(size)}"`).join(', ');

  it('are bounded together, but for those that are read', () => {
    const large = many(40, 100_000);
    const header = headerOf(`${large}, "distributedInfo": {"rank": 3}`, 1000);
    expect(header.distributed?.rank).toBe(3);
    expect(JSON.stringify(header).length).toBeLessThan(1.2 * 2 ** 20);
    expect(codes(trace(large))).toEqual(['long-field 15', 'too-many-fields 25']);
    expect(codes(trace(many(3000, 1)))).toEqual(['too-many-fields 2000']);
  });

  it('are cut if one is too large', () => {
    expect(codes(trace(`"notes": "${'A'.repeat(100_000)}"`))).toEqual(['long-field 1']);
    expect(codes(trace(`"deviceProperties": [{"name": "${'A'.repeat(100_000)}"}]`))).toEqual([
      'long-field 1',
    ]);
  });

  it('lists have a limit', () => {
    const devices = Array(1030).fill('{}').join();
    expect(codes(trace(`"deviceProperties": [${devices}]`))).toEqual(['too-many-entries 6']);
  });
});

it('strings end at their quote, wherever the chunks are cut', () => {
  const value = '"a\\\\", "b": "\\"", "c": "\\\\\\"}]", "hostname": "h\\u0041"';
  for (const chunk of [1, 2, 3, 7]) expect(headerOf(`"a": ${value}`, chunk).hostName).toBe('hA');
});
