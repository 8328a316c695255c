import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../test/helpers/cases.js';
import { lintFile } from './lint-script.js';

const folder = new URL('../../test/fixtures/lint/bad/', import.meta.url);
const scripts = readdirSync(folder)
  .filter((name) => name.endsWith('.py'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'));

/** Every finding is in the file. */
function check(text: string): void {
  const lines = text.split('\n').length;
  const { findings, problems } = lintFile('x.py', text);
  for (const { line, column, end_line, source } of findings) {
    expect(line).toBeGreaterThanOrEqual(1);
    expect(end_line).toBeLessThanOrEqual(lines);
    expect(column).toBeGreaterThanOrEqual(1);
    expect(text).toContain(source);
  }
  expect(problems.filter((p) => p.includes('check failed'))).toEqual([]);
}

describe('lint never throws', () => {
  it('on scripts that end anywhere', () =>
    fc.assert(
      fc.property(fc.constantFrom(...scripts), fc.double({ min: 0, max: 1, noNaN: true }), (text, share) =>
        check(text.slice(0, Math.floor(text.length * share))),
      ),
      { numRuns: cases(15, 60) },
    ));

  it('on scripts with lines in another order', () =>
    fc.assert(
      fc.property(
        fc.constantFrom(...scripts).chain((text) => fc.shuffledSubarray(text.split('\n'))),
        (lines) => check(lines.join('\n')),
      ),
      { numRuns: cases(15, 60) },
    ));

  it('on any text', () =>
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), check), {
      numRuns: cases(25, 100),
    }));

  it.each([
    ['brackets', '('.repeat(100_000)],
    ['calls', 'f('.repeat(400_000)],
    ['closed calls', `${'f('.repeat(20_000)}${')'.repeat(20_000)}`],
    ['members', `x${'.a()'.repeat(50_000)}.item()`],
    ['loops', Array.from({ length: 500 }, (_, i) => `${' '.repeat(i)}for x in y:`).join('\n')],
    ['operators', `for x in y:\n  loss.backward()\n  float(loss${' + loss'.repeat(50_000)})`],
    ['conditions', `x = ${'1 if a else '.repeat(20_000)}2`],
    ['notebook cells', '{"cells": '.repeat(1000)],
  ])('on deeply nested %s, and ends soon', (_, text) => {
    const started = performance.now();
    check(text);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
