/** What every EventScanner must do, whatever it is made of. */
import { describe, expect, it } from 'vitest';
import { BATCH_ROWS, OFFSET_EVERY } from '../../src/readers/common/trace-rows/batch.js';
import { COUNTER } from '../../src/readers/common/trace-rows/counters.js';
import { type EventScanner, SCAN } from '../../src/readers/kineto/scanner.js';
import { cases } from './cases.js';
import { expectedRows, plainEvents } from './plain-events.js';
import { collectRows, type ScannedTrace, ScanStopped } from './scan-rows.js';
import { randomSizes, tortureDocument } from './torture.js';

const CHUNKS = [1, 2, 3, 7, 16, 17, 63, 64, 65, 127, 1021];
const WHOLE = 1 << 30;

type Create = () => EventScanner;

export function describeScanner(create: Create): void {
  describe('torture', () => describeTorture(create));
  describe('batches', () => describeBatches(create));
  describe('what is tolerated', () => describeCounters(create));
  describe('what is not', () => describeMalformed(create));
  describe('repaired events', () => describeRepaired(create));
}

function describeTorture(create: Create): void {
  const check = (seed: number, events: number, chunks: readonly (readonly number[])[]) => {
    const { text, inside } = tortureDocument(seed, events);
    const expected = expectedRows(plainEvents(text));
    for (const sizes of chunks) {
      const { offsets: _, oddStrings: __, batches: ___, ...trace } = collectRows(create(), inside, sizes);
      expect(trace, `chunks of ${sizes.slice(0, 3)}`).toStrictEqual(expected);
    }
  };
  it.each(range(1, cases(4, 12)))('document %i in chunks of every size', (seed) => {
    check(
      seed,
      30,
      CHUNKS.map((n) => [n]),
    );
  });
  it.each(range(2, cases(4, 11)))('ten documents from %i0, whole and in random chunks', (ten) => {
    for (let seed = ten * 10; seed < ten * 10 + 10; seed++) {
      check(seed, 40, [[WHOLE], randomSizes(seed, 3000, 90), randomSizes(seed, 300, 900)]);
    }
  });
  it('a document that fills the side tables, in small chunks', () => {
    check(7, 4000, [[100], [WHOLE]]);
  });
  it('knows where rows and odd strings came from', () => {
    const { inside } = tortureDocument(5, 2000);
    const text = Buffer.from(inside).toString('latin1');
    const { rows, offsets, oddStrings } = collectRows(create(), inside, [1000]);
    expect(offsets).toHaveLength(Math.ceil(rows.length / OFFSET_EVERY));
    for (const at of offsets) expect(text[at]).toBe('{');
    expect(oddStrings.length).toBeGreaterThan(3);
    for (const { token, offset } of oddStrings) {
      expect(token).toMatch(/[^ -~]/);
      expect(text[offset]).toBe('{');
      expect(text.indexOf(Buffer.from(token).toString('latin1'))).toBeGreaterThan(offset);
    }
  });
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

function scanned(create: Create, text: string, size = WHOLE): ScannedTrace {
  return collectRows(create(), Buffer.from(text), [size]);
}

/** The same in chunks of any size. */
function scannedAnyhow(create: Create, text: string): ScannedTrace {
  const whole = scanned(create, text);
  for (const size of CHUNKS) expect(scanned(create, text, size), `chunks of ${size}`).toStrictEqual(whole);
  return whole;
}

function describeBatches(create: Create): void {
  it('go on where the last one ended', () => {
    const events = range(0, BATCH_ROWS * 2 + 10).map(
      (i) => `{"ph":"X","ts":${1000 + i}.${i % 10},"dur":1,"name":"n${i}"}`,
    );
    const { rows, batches, offsets } = scanned(create, events.join(',\n'), 60000);
    expect(batches).toBe(3);
    expect(rows).toHaveLength(events.length);
    rows.forEach((r, i) => {
      if (r.name !== `n${i}` || r.tsNs !== BigInt(1000 + i) * 1000n + BigInt((i % 10) * 100))
        throw new Error(`row ${i}`);
    });
    expect(offsets[200]).toBe(events.slice(0, 200 * OFFSET_EVERY).join(',\n').length + 2);
  });

  it('bind a flow to a row of the batch before', () => {
    const events = range(1, BATCH_ROWS).map((i) => `{"ph":"X","ts":${i},"dur":1,"pid":1,"tid":1}`);
    const flow = `{"ph":"s","ts":${BATCH_ROWS},"pid":1,"tid":1,"id":77,"cat":"ac2g"}`;
    const { flows, rows, batches } = scanned(create, [...events, flow].join());
    expect({ flows, rows: rows.length, batches }).toStrictEqual({
      flows: [{ row: BATCH_ROWS - 1, id: 77, kind: '["s","ac2g"]' }],
      rows: BATCH_ROWS,
      batches: 2,
    });
  });

  it('keep nothing of an incomplete event', () => {
    const scanner = create();
    const text = Buffer.from(
      '{"ph":"X","ts":NaN,"cat":"new","args":{"correlation":-1,"stream":7,},"name":"n"',
    );
    scanner.reserve(text.length + 1, 0);
    scanner.buffer.set(text);
    expect(scanner.scan(0, text.length, 0)).toBe(SCAN.needMore);
    expect(scanner.position).toBe(0);
    const batch = scanner.finishBatch();
    expect([batch.rows, batch.side.gpu.rows, batch.side.wideIds.rows]).toStrictEqual([0, 0, 0]);
    expect(scanner.finish().counters.every((c) => c.count === 0)).toBe(true);
    expect(scanner.finish().kinds.every((k) => k.events === 0)).toBe(true);
  });

  it('start at the first time above zero of an event that is not metadata', () => {
    const text = '{"ph":"M","ts":5},{"ph":"i"},{"ph":"i","ts":0},{"ph":"i","ts":-1},{"ph":"i","ts":7.25}';
    const { baseNs, rows } = scannedAnyhow(create, text);
    expect(baseNs).toBe(7250n);
    expect(rows.map((r) => r.tsNs)).toStrictEqual([null, null, 0n, -1000n, 7250n]);
  });

  it('have exact times', () => {
    const times = [
      '1661203465758835.123',
      '1661203465758835.1234',
      '1661203465758835.1235',
      '1661203465758836',
    ];
    const { rows } = scannedAnyhow(create, times.map((ts) => `{"ph":"i","ts":${ts}}`).join());
    const ns = [1661203465758835123n, 1661203465758835123n, 1661203465758835124n, 1661203465758836000n];
    expect(rows.map((r) => r.tsNs)).toStrictEqual(ns);
  });
}

function describeCounters(create: Create): void {
  const X = '"ph":"X","ts":1,"dur":1';
  it.each<[string, keyof typeof COUNTER, number]>([
    [`{${X},},{${X},"args":{"a":1,},"s":1},{${X},},{${X},"args":{"a":1,},"s":1}`, 'trailingComma', 4],
    [`{${X}}{${X}},{${X}}\n{${X}}`, 'missingComma', 2],
    ['{},{"ts":1},{"ph":"XX"},{"ph":5}', 'noPhase', 4],
    [
      `{${X},"args":{"a":NaN,"b":-NaN,"c":nan,"d":-nan,"e":inf,"f":-inf,"g":Infinity,"h":null}}`,
      'nonFinite',
      7,
    ],
    ['{"ph":"X","ts":NaN,"dur":-nan}', 'nonFinite', 2],
    ['{"ph":"X","dur":1},{"ph":"i","ts":"5 µs"},{"ph":"i","ts":"5"},{"ph":"M"}', 'noTimestamp', 2],
    ['{"ph":"X","ts":1},{"ph":"X","ts":1,"dur":null},{"ph":"i","ts":1}', 'noDuration', 2],
    [
      `{${X},"id":-1,"args":{"correlation":-1,"Python id":-1,"External id":-1,"Seq":1,"Python parent id":-1}}`,
      'wideLost',
      1,
    ],
  ])('%s: %s %i times', (text, what, times) => {
    const { counters } = scannedAnyhow(create, text);
    expect(counters[what]).toBe(times);
  });

  it('says where it was first seen', () => {
    const scanner = create();
    collectRows(scanner, Buffer.from(`{${X}}, {${X}} {${X}}{${X}}`), [5]);
    expect(scanner.finish().counters[COUNTER.missingComma]).toStrictEqual({
      count: 2,
      first: `{${X}}, {${X}} `.length,
    });
  });

  it('cuts strings of more than 64 KiB', () => {
    const scanner = create();
    const name = (end: string) => `{${X},"name":"${'x'.repeat(70000)}${end}"}`;
    const bytes = Buffer.from(`${name('a')},${name('b')}`);
    scanner.reserve(bytes.length, 0);
    scanner.buffer.set(bytes);
    scanner.scan(0, bytes.length, 0);
    const batch = scanner.finishBatch();
    const { stringStarts, counters } = scanner.finish();
    expect(batch.name[0]).toBe(batch.name[1]);
    expect(stringStarts[batch.name[0]! + 1]! - stringStarts[batch.name[0]!]!).toBe(65536);
    expect(counters[COUNTER.longString]!.count).toBe(2);
  });

  it('counts kinds beyond 255 as one', () => {
    const { rows, kinds, counters } = scanned(
      create,
      range(1, 260)
        .map((i) => `{${X},"cat":"c${i}"}`)
        .join(),
    );
    expect(rows).toHaveLength(260);
    expect(kinds[JSON.stringify(['\0', null])]).toStrictEqual({ events: 5, folded: 0 });
    expect(counters).toMatchObject({ kindsFull: 5, noPhase: 0 });
  });

  it('counts tracks beyond 65534 as one', () => {
    const scanner = create();
    const bytes = Buffer.from(
      range(1, 30000)
        .map((i) => `{${X},"pid":${i},"tid":1},{${X},"pid":1,"tid":${i}},{${X},"tid":${i}}`)
        .join(),
    );
    scanner.reserve(bytes.length, 0);
    scanner.buffer.set(bytes);
    let last = 0;
    for (let from = 0; from < bytes.length; from = scanner.position) {
      scanner.scan(from, bytes.length, from);
      const batch = scanner.finishBatch();
      last = Math.max(last, ...batch.track.subarray(batch.rows - 10));
      scanner.startBatch();
    }
    const { tracks, counters } = scanner.finish();
    expect([last, tracks.length, counters[COUNTER.tracksFull]!.count]).toStrictEqual([
      0xfffe,
      0xfffe,
      30000 * 3 - 1 - 0xfffe,
    ]);
  });
}

function describeMalformed(create: Create): void {
  const X = '{"ph":"X","ts":1,"dur":1}';
  const stop = (text: string, size: number): unknown => {
    try {
      return scanned(create, text, size);
    } catch (e) {
      if (e instanceof ScanStopped) return [e.status, e.at];
      throw e;
    }
  };
  it.each([
    ['an unescaped quote', `${X},`, '{"ph":"X","name":"say "hi" to","ts":1}'],
    ['an unescaped quote in an argument', `${X},`, '{"ph":"X","args":{"grid":"say "hi" to"},"ts":1}'],
    ['an unescaped quote in a category', `${X},`, '{"ph":"X","cat":"a"b","ts":1}'],
    ['a missing colon', `${X},`, '{"ph" "X"}'],
    ['a missing colon in args', `${X},`, '{"ph":"X","args":{"correlation" 5}}'],
    ['a missing comma', `${X},`, '{"ph":"X" "ts":1}'],
    ['a comma too many', `${X},`, '{"ph":"X",,"ts":1}'],
    ['a comma first', `${X},`, '{,"ph":"X"}'],
    ['a key that is none', `${X},`, '{"ph":"X",ts:1}'],
    ['a wrong bracket', `${X},`, '{"ph":"X"]'],
    ['a number with more behind it', `${X},`, '{"ph":"X","ts":5x}'],
    ['an id with more behind it', `${X},`, '{"ph":"X","id":5x}'],
    ['garbage between events', `${X}, `, `garbage, ${X}`],
    ['a number between events', `${X},`, `5,${X}`],
    ['an array between events', `${X},`, `[{}],${X}`],
    ['a brace too many', X, `},${X}`],
  ])('%s', (_, before, broken) => {
    const text = `${before}${broken},${X}]`;
    for (const size of [WHOLE, ...CHUNKS]) {
      expect(stop(text, size), `chunks of ${size}`).toStrictEqual([SCAN.malformed, before.length]);
    }
  });
  it('is not an event that only lacks its end', () => {
    expect(stop(`${X}, {"ph":"X","args":{"a`, 9)).toStrictEqual([SCAN.needMore, X.length + 2]);
  });
}

function describeRepaired(create: Create): void {
  const repaired = (text: string) => {
    const scanner = create();
    const ok = scanner.scanRepaired(Buffer.from(text), 123);
    return { ok, rows: scanner.finishBatch().rows, counters: scanner.finish().counters };
  };
  it.each([
    ['one event', '{"ph":"X","ts":1,"dur":2}', true, 1],
    ['one event and space', ' {"ph":"X","ts":1,"dur":2}\n', true, 1],
    ['no event', '{"ts":1}', true, 0],
    ['two events', '{"ph":"X","ts":1,"dur":2},{"ph":"X","ts":1,"dur":2}', false, 0],
    ['one event and more', '{"ph":"X","ts":1,"dur":2} x', false, 0],
    ['an event without an end', '{"ph":"X","ts":1,"dur":2', false, 0],
    ['an event still broken', '{"ph":"X","ts":1,"dur":2 3}', false, 0],
    ['something else', '[{"ph":"X"}]', false, 0],
  ])('%s: %s', (_, text, ok, rows) => {
    expect(repaired(text)).toMatchObject({ ok, rows });
  });
  it('keeps the input, and may be a bound flow', () => {
    const scanner = create();
    const text = Buffer.from('{"ph":"X","ts":1,"dur":2,"name":"a"},{"ph":"X","ts":3,"dur":2,"name":"b"}');
    const first = text.indexOf(',{') + 1;
    scanner.reserve(text.length, 0);
    scanner.buffer.set(text);
    scanner.scan(0, first, 0);
    // `scan` may write beyond its end.
    scanner.buffer.set(text);
    const flow = `{"ph":"s","ts":1,"id":5,"x":"${'y'.repeat(100000)}"}`;
    expect(scanner.scanRepaired(Buffer.from(flow), 40)).toBe(true);
    scanner.reserve(text.length + 50000, text.length);
    expect(scanner.scan(first, text.length, first)).toBe(SCAN.needMore);
    const batch = scanner.finishBatch();
    expect([batch.rows, batch.side.flows.rows, batch.side.flows.row[0]]).toStrictEqual([2, 1, 0]);
  });
}
