import { describe, expect, it } from 'vitest';
import { cpuTime } from '../../../test/helpers/cpu-time.js';
import { brokenEventExtent, garbageExtent, repairEvent } from './repair.js';

const repaired = (text: string) =>
  JSON.parse(Buffer.from(repairEvent(Buffer.from(text)).text).toString()) as unknown;

describe('repairEvent', () => {
  it.each([
    ['an unescaped quote in a value', '{"name": "say "hi" now", "dur": 5}', { name: 'say "hi" now', dur: 5 }],
    ['a quote before a comma', '{"name": "a", b", "dur": 5}', { name: 'a", b', dur: 5 }],
    ['a quote in an array', '{"t": ["x "y" z", "w"], "n": 1}', { t: ['x "y" z', 'w'], n: 1 }],
    ['a missing value', '{"dur": , "name": "a"}', { dur: null, name: 'a' }],
    ['a missing last value', '{"name": "a", "dur":}', { name: 'a', dur: null }],
    ['something that is not a number', '{"dur": 12abc, "id": 0x7f}', { dur: '12abc', id: '0x7f' }],
    ['a missing bracket', '{"name": "a", "args": {"x": 1}', { name: 'a', args: { x: 1 } }],
    ['an event that is fine', '{"a": [1, {"b": "c"}], "d": null}', { a: [1, { b: 'c' }], d: null }],
  ])('mends %s', (_, broken, expected) => {
    expect(repaired(broken)).toEqual(expected);
  });

  it('stops where the object ends', () => {
    expect(repairEvent(Buffer.from('{"a": 1}{"b": 2}')).length).toBe(8);
  });

  it('passes UTF-8 through', () => {
    expect(repaired('{"name": "é "x" 漢"}')).toEqual({ name: 'é "x" 漢' });
  });
});

describe('extents', () => {
  it('ends a broken event where the next one begins', () => {
    const text = '{"name": "a "b", "dur": 1},\n  {"ph": "X"}';
    expect(brokenEventExtent(Buffer.from(text), false)).toEqual({
      kind: 'found',
      length: text.indexOf(',\n'),
    });
  });

  it('is not fooled by objects inside the event', () => {
    const text = '{"name": "a "b", "args": {"x": [{"y": 1}, {"z": 2}]}}, {"cat": "c"}';
    expect(brokenEventExtent(Buffer.from(text), false)).toEqual({
      kind: 'found',
      length: text.indexOf(', {"cat"'),
    });
  });

  it('asks for more bytes until it is certain, then finds the end of the array', () => {
    const bytes = Buffer.from('{"name": "a "b"}\n], "traceName": "t"}');
    expect(brokenEventExtent(bytes, false)).toEqual({ kind: 'need-more' });
    expect(brokenEventExtent(bytes, true)).toEqual({ kind: 'found', length: 16 });
  });

  it('takes no longer for very many spaces', () => {
    const started = cpuTime();
    const text = `{"name": "a "b", "dur": 1}${' '.repeat(900_000)}x`;
    expect(brokenEventExtent(Buffer.from(text), false)).toEqual({ kind: 'need-more' });
    expect(cpuTime() - started).toBeLessThan(2000);
  });

  it('skips garbage to the next event', () => {
    expect(garbageExtent(Buffer.from('oops {"ph": "X"}'), false)).toEqual({ kind: 'found', length: 5 });
    expect(garbageExtent(Buffer.from('oops'), true)).toEqual({ kind: 'lost' });
  });
});
