import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tortureDocument } from '../../../test/helpers/torture.js';
import { type RawEvent, RawEventReader } from './raw-events.js';

function eventsIn(input: Uint8Array | string, sizes: readonly number[] = [1 << 20]) {
  const bytes = typeof input === 'string' ? Buffer.from(input) : input;
  const events: RawEvent[] = [];
  const reader = new RawEventReader((event) => events.push(event));
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!;
    // A copy that is overwritten afterwards: the reader may not hold on to a chunk.
    const chunk = new Uint8Array(bytes.subarray(at, at + size));
    reader.push(chunk);
    chunk.fill(0x78);
    at += size;
  }
  const { fields, problems } = reader.finish();
  return { events, texts: events.map((e) => e.text), fields, codes: problems.map((p) => p.code) };
}

const event = (name: string, more = '') =>
  `{"ph":"X","name":"${name}","pid":1,"tid":1,"ts":1.5,"dur":2${more}}`;
const trace = (...events: string[]) =>
  `{"schemaVersion":1,"traceEvents":[${events.join(',')}],"traceName":"é"}`;

describe('raw events', () => {
  it('raw events are the text of the file, byte by byte, with the fields around them', () => {
    const odd = event('é', ',"args":{"id":18446744073709551615}');
    const { texts, fields, codes } = eventsIn(trace(event('a'), odd));
    expect(texts.map((t) => Buffer.from(t, 'latin1').toString())).toEqual([event('a'), odd]);
    expect([...fields]).toEqual([
      ['schemaVersion', '1'],
      ['traceName', '"é"'],
    ]);
    expect(codes).toEqual([]);
  });

  it('are all that there are, in documents of every shape', () => {
    for (let seed = 0; seed < 60; seed++) {
      const { bytes } = tortureDocument(seed, 60);
      const { events } = eventsIn(bytes);
      expect({ seed, events: events.length }).toEqual({ seed, events: 60 });
      for (const e of events) expect(JSON.parse(e.text)).toEqual(e.value);
    }
  });

  it('are the same however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 500 }),
        fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 12 }),
        (seed, sizes) => {
          const { bytes } = tortureDocument(seed, 20);
          expect(eventsIn(bytes, sizes).texts).toEqual(eventsIn(bytes).texts);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('end where the file was cut', () => {
    const bytes = Buffer.from(trace(event('a'), event('b', ',"args":{"x":[1,{"y":2}]}'), event('c')));
    const all = eventsIn(bytes).texts;
    for (let length = 1; length < bytes.length; length++) {
      const { texts } = eventsIn(bytes.subarray(0, length));
      expect(texts).toEqual(all.slice(0, texts.length));
    }
  });

  it.each([
    ['a quote', event('a"b'), 'a"b'],
    ['a quote in the last event', event('a"b'), 'a"b'],
    ['a control character', event('a\u0001b'), 'a\u0001b'],
    ['a path of Windows', event('C:\\Users\\new'), 'C:\\Users\new'],
    ['NaN', event('a', ',"args":{"x":NaN,"y":-Infinity}'), 'a'],
  ])('are repaired: %s', (what, broken, name) => {
    const others = [event('first'), broken, ...(what.includes('last') ? [] : [event('last')])];
    const { events } = eventsIn(trace(...others));
    expect(events).toHaveLength(others.length);
    expect(events[1]!.value.name).toBe(name);
  });
});
