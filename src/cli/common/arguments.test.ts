import { describe, expect, it } from 'vitest';
import {
  bottleneckList,
  jobCount,
  outFile,
  percentage,
  rankList,
  ranksOrAll,
  stepRange,
  wholeNumber,
} from './arguments.js';

describe('stepRange', () => {
  it.each([
    ['3-6', { first: 3, last: 6 }],
    ['3-', { first: 3, last: null }],
    ['-6', { first: null, last: 6 }],
    ['3', { first: 3, last: 3 }],
    ['0-0', { first: 0, last: 0 }],
  ])('%s', (text, expected) => {
    expect(stepRange(text)).toEqual(expected);
  });

  it.each(['', '-', 'a-b', '3-6-9', '3.5', '1e3', '--6', '99999999999'])('refuses "%s"', (text) => {
    expect(() => stepRange(text)).toThrow('3-6, 3-, -6 or 3');
  });

  it('suggests the right order for a reversed range', () => {
    expect(() => stepRange('6-3')).toThrow('did you mean 3-6?');
  });
});

describe('rankList', () => {
  it.each([
    ['0', [0]],
    ['0,2-5', [0, 2, 3, 4, 5]],
    ['7, 1-2 ,2', [1, 2, 7]],
  ])('%s', (text, expected) => {
    expect(rankList(text)).toEqual(expected);
  });

  it.each(['', ',', '1,', '-1', '1-', 'all', '1..3'])('refuses "%s"', (text) => {
    expect(() => rankList(text)).toThrow('0,2-5');
  });

  it('refuses ranges that are too long or empty', () => {
    expect(() => rankList('0-999999999')).toThrow('At most 100000');
    expect(() => rankList('0-99999')).not.toThrow();
    expect(() => rankList('0-99999,100000')).toThrow('At most 100000');
    expect(() => rankList('5-2')).toThrow('5-2 ends before it starts');
  });
});

describe('bottleneckList', () => {
  it('takes the names that the report uses', () => {
    expect(bottleneckList('data, comms')).toEqual(['data', 'comms']);
  });

  it.each([
    ['network', '"network" is not one of gpu, data, comms'],
    ['data,', '"" is not one of'],
  ])('refuses "%s"', (text, reason) => {
    expect(() => bottleneckList(text)).toThrow(reason);
  });
});

describe('wholeNumber', () => {
  it('takes whole numbers from its minimum on', () => {
    expect(wholeNumber(0)('0')).toBe(0);
    expect(wholeNumber(1)('100000')).toBe(100_000);
    for (const text of ['0', '-1', '1.5', '', 'x'])
      expect(() => wholeNumber(1)(text)).toThrow('a whole number from 1 up');
  });

  it('takes no more than its maximum', () => {
    expect(jobCount('12')).toBe(12);
    for (const text of ['0', '-1', '1.5', '', 'x', '10000'])
      expect(() => jobCount(text)).toThrow('1 to 9999');
  });
});

describe('percentage', () => {
  it.each([
    ['0.5%', 0.005],
    ['2%', 0.02],
    ['0.005', 0.005],
    ['.1', 0.1],
  ])('%s', (text, expected) => {
    expect(percentage(text)).toBe(expected);
  });

  it.each(['0', '0%', '5', '100%', 'x', '', '-1%', '1.2.3'])('refuses "%s"', (text) => {
    expect(() => percentage(text)).toThrow('such as 0.5%, or a fraction such as 0.005');
  });
});

describe('ranksOrAll', () => {
  it('takes `all` or a list', () => {
    expect(ranksOrAll('all')).toBe('all');
    expect(ranksOrAll('1-2')).toEqual([1, 2]);
  });
});

it('a file to write is never named -', () => {
  expect(outFile('a.json')).toBe('a.json');
  expect(() => outFile('-')).toThrow('It must be a file');
});
