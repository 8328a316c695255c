import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../../test/helpers/cases.js';
import { draw, type Read, read, row } from '../../../test/helpers/events.js';
import { eventsReader } from './descriptor.js';

const name = fc.oneof(
  fc.constantFrom('forward', 'backward', 'data_wait', 'collective:all_reduce'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const number = fc.oneof(
  fc.double().map(String),
  fc.integer({ min: -3, max: 3 }).map(String),
  fc.constantFrom('NaN', '"7"', 'null', 'true'),
);
const more = fc.constantFrom(
  '',
  ', "micro": 1',
  ', "run": "b"',
  ', "start_ms": 2.5, "clock": "gpu"',
  ', "start_ms": 2.5, "clock": "gpu", "host_ms": 1.5, "lag_ms": 0.02',
  ', "x": {"name": []}',
);
const record = fc
  .tuple(name, fc.integer({ min: 0, max: 5 }), number, more, fc.integer({ min: 0, max: 2 }))
  .map((args) => row(...args));
const line = fc.oneof(
  { weight: 8, arbitrary: record },
  {
    weight: 1,
    arbitrary: fc.constantFrom('{"whyslow": 1, "run": "a", "rank": 0}', '{"whyslow": 1}', '', 'é garbage ü'),
  },
  { weight: 1, arbitrary: fc.tuple(record, record).map(([a, b]) => a.slice(0, a.length / 2) + b) },
);
const end = fc.constantFrom('\n', '\n', '\r\n', '\0\0\0', '\0\n');
const file = fc
  .array(fc.tuple(line, end), { maxLength: 12 })
  .map((lines) => Buffer.from(lines.flat().join('')));

/** Rows of all runs; sorted into runs the same way whatever follows, so a prefix holds for each run. */
const rows = ({ runs }: Read): string[][] => runs.map(draw);

function expectSound({ runs }: Read): void {
  for (const run of runs) {
    const columns = [run.name, run.step, run.rank, run.durationMs, run.startMs, run.micro, run.clock];
    for (const column of [...columns, run.hostMs, run.lagMs]) expect(column.length).toBe(run.rows);
    expect(run.name.every((id) => id < run.names.length)).toBe(true);
  }
}

describe('any file', () => {
  it('reads the same in any chunks', () => {
    fc.assert(
      fc.property(file, fc.array(fc.nat({ max: 1200 }), { maxLength: 20 }), (bytes, cuts) => {
        const whole = read(bytes);
        const within = cuts.map((cut) => Math.min(cut, bytes.length));
        expect(read(bytes, within)).toEqual(whole);
      }),
      { numRuns: cases(100, 500) },
    );
  });

  it('reads the same byte by byte', () => {
    fc.assert(
      fc.property(file, (bytes) => {
        expect(read(bytes, [...bytes.keys()])).toEqual(read(bytes));
      }),
      { numRuns: cases(50, 100) },
    );
  });

  it('cut at any byte gives a prefix of the rows of each run', () => {
    fc.assert(
      fc.property(file, (bytes) => {
        const whole = rows(read(bytes));
        for (let size = 0; size < bytes.length; size++) {
          const part = read(bytes.subarray(0, size));
          rows(part).forEach((run, i) => {
            expect(run).toEqual(whole[i]!.slice(0, run.length));
          });
        }
      }),
      { numRuns: cases(30, 60) },
    );
  });

  it('never throws, whatever bytes are flipped', () => {
    const flip = fc.tuple(fc.nat({ max: 1200 }), fc.nat({ max: 255 }));
    fc.assert(
      fc.property(file, fc.array(flip, { minLength: 1, maxLength: 10 }), (bytes, flips) => {
        const copy = Buffer.from(bytes);
        for (const [at, value] of flips) if (at < copy.length) copy[at] = value;
        expectSound(read(copy));
        eventsReader.sniff(copy);
      }),
      { numRuns: cases(200, 2000) },
    );
  });

  it('never throws on bytes that are not an event log', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => expectSound(read(bytes))),
      { numRuns: cases(100, 500) },
    );
  });
});

describe('a sound file cut at any byte', () => {
  it('loses nothing, or one record with `cut-last-line`', () => {
    const lines = [
      '{"whyslow": 1, "run": "é", "rank": 0, "x": {"name": "a"}}',
      row('a', 1),
      row('ü"\\{', 1, 0.5),
      row('a', 2),
    ];
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    const ends = lines.map((_, i) => Buffer.byteLength(lines.slice(0, i + 1).join('\n')));
    const whole = draw(read(bytes).runs[0]!);
    for (let size = 0; size <= bytes.length; size++) {
      const part = read(bytes.subarray(0, size));
      const complete = ends.filter((at) => at <= size).length;
      expect(part.runs.flatMap(draw)).toEqual(whole.slice(0, Math.max(0, complete - 1)));
      const isCut = size > (complete === 0 ? 0 : ends[complete - 1]! + 1);
      expect(part.problems.map((p) => p.code)).toEqual(isCut ? ['cut-last-line'] : []);
    }
  });
});
