import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DMON, draw, QUERY, type Read, read } from '../../../test/helpers/dmon/tables.js';
import { TELEMETRY_FIELDS } from '../../model/telemetry.js';
import { dmonReader } from './descriptor.js';

const NAMES = ['gpu', 'pwr', 'gtemp', 'sm', 'mem', 'mclk', 'pclk', 'pviol', 'tviol', 'fb', 'new'];
const cell = fc.oneof(
  { weight: 8, arbitrary: fc.nat({ max: 3000 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('-', 'N/A', '1.5', 'x', '[N/A]', '1e9') },
);
/** A block of `dmon` with any columns in any order. */
const block = fc.shuffledSubarray(NAMES, { minLength: 2 }).chain((names) =>
  fc
    .array(
      fc
        .array(cell, { minLength: names.length - 1, maxLength: names.length })
        .map((cells) => cells.join('  ')),
      { maxLength: 8 },
    )
    .map((rows) => [`# ${names.join('  ')}`, `# ${names.map(() => '%').join(' ')}`, ...rows].join('\n')),
);
const line = fc.oneof(block, fc.constantFrom(DMON, QUERY, '', '#', 'é garbage ü, x', '# gpu sm, pclk'));
const end = fc.constantFrom('\n', '\n', '\r\n', '\0\0\n', '');
const file = fc
  .array(fc.tuple(line, end), { maxLength: 6 })
  .map((lines) => Buffer.from(lines.flat().join('')));

function expectSound({ telemetry }: Read): void {
  for (const field of TELEMETRY_FIELDS) expect(telemetry[field].length).toBe(telemetry.rows);
  expect(telemetry.timeNs.length).toBe(telemetry.rows);
  expect(telemetry.gpu.every((place) => place < telemetry.gpus.length)).toBe(true);
}

describe('any telemetry', () => {
  it('reads the same in any chunks', () => {
    fc.assert(
      fc.property(file, fc.array(fc.nat({ max: 1500 }), { maxLength: 20 }), (bytes, cuts) => {
        const within = cuts.map((cut) => Math.min(cut, bytes.length));
        expect(read(bytes, within)).toEqual(read(bytes));
      }),
      { numRuns: 500 },
    );
  });

  it('cut at any byte gives a prefix of the rows', () => {
    fc.assert(
      fc.property(file, fc.nat(), (bytes, at) => {
        const whole = draw(read(bytes));
        const part = draw(read(bytes.subarray(0, at % (bytes.length + 1))));
        expect(part).toEqual(whole.slice(0, part.length));
      }),
      { numRuns: 1000 },
    );
  });

  it('loses at most the cut line of a sound log, and says so', () => {
    for (const text of [DMON, QUERY]) {
      const bytes = Buffer.from(text);
      const whole = draw(read(bytes));
      for (let size = 0; size < bytes.length; size++) {
        const part = read(bytes.subarray(0, size));
        expect(draw(part)).toEqual(whole.slice(0, part.telemetry.rows));
        const cut =
          size > 0 && bytes[size - 1] !== 10 && text.slice(0, size).split('\n').at(-1)!.trim() !== '';
        expect(part.problems.map((p) => p.code)).toEqual(cut ? ['cut-sample'] : []);
      }
    }
  });

  it('never throws, whatever bytes are flipped', () => {
    const flip = fc.tuple(fc.nat({ max: 1500 }), fc.nat({ max: 255 }));
    fc.assert(
      fc.property(file, fc.array(flip, { minLength: 1, maxLength: 10 }), (bytes, flips) => {
        for (const [at, value] of flips) if (at < bytes.length) bytes[at] = value;
        expectSound(read(bytes));
        dmonReader.sniff(bytes);
      }),
      { numRuns: 1000 },
    );
  });
});
