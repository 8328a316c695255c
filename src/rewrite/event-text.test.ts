import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { microseconds, placesOf, TraceTimes, timeToken, withValues } from './event-text.js';

const scalar = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
const value = fc.oneof(
  scalar,
  fc.array(scalar),
  fc.dictionary(fc.string(), fc.oneof(scalar, fc.array(scalar))),
);
/** Keys as in events: without characters that JSON escapes. */
const object = fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), value);

describe('the text of an event', () => {
  it('has its values where they are found', () => {
    fc.assert(
      fc.property(object, fc.integer({ min: 0, max: 3 }), (event, indent) => {
        const text = JSON.stringify(event, null, indent);
        const places = placesOf(text);
        expect([...places.keys()]).toEqual(Object.keys(event));
        for (const [key, { start, end }] of places)
          expect(JSON.parse(text.slice(start, end))).toEqual(event[key]);
      }),
    );
  });

  it('changes in nothing but the values that are given', () => {
    fc.assert(
      fc.property(object, fc.integer(), (event, other) => {
        const text = JSON.stringify({ ...event, ts: 1, pid: 2 });
        const changed = withValues(text, placesOf(text), {
          pid: String(other),
          ts: '7.5',
          missing_key: '1',
          tid: null,
        });
        expect(JSON.parse(changed)).toEqual({ ...event, ts: 7.5, pid: other });
      }),
    );
  });

  it('has its own time, not that of an argument', () => {
    const token = '1794704799155734.177';
    expect(timeToken(`{"args":{"ts": 5},"ts": ${token}}`, Number(token))).toBe(token);
    expect(timeToken('{"name":"a"}', undefined)).toBeNull();
  });
});

describe('times', () => {
  it('are exact to the nanosecond since 1970', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2_000_000_000_000_000_000n }),
        fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }),
        (base, offset) => {
          const at = base + offset;
          fc.pre(at >= 0n);
          const text = `${at / 1000n}.${String(at % 1000n).padStart(3, '0')}`;
          expect(new TraceTimes(base).fromBase(text)).toBe(Number(offset));
        },
      ),
    );
  });

  it.each([
    ['5', 5000],
    ['5.1', 5100],
    ['"5.25"', 5250],
    ['-1.5', -1500],
    ['5.1234', 5123],
    ['5.1239', 5124],
    ['1e3', 1_000_000],
  ])('read %s as %d ns', (token, ns) => {
    expect(new TraceTimes(0n).fromBase(token)).toBe(ns);
  });

  it('are written as they are read', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (ns) => {
        expect(new TraceTimes(0n).fromBase(microseconds(ns))).toBe(ns === 0 ? 0 : ns);
      }),
    );
  });
});
