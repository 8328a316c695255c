import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { sourceFiles, sourceText } from './import-graph.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

// More than about 120,000 arguments overflow the stack, and how many there are depends on the input.
it('sources spread no list into the arguments of push, Math.max and Math.min', () => {
  const spreading =
    /(?:\.(?:push|unshift|concat)|\bMath\.(?:max|min))\((?:[^()[\]{}]|\([^()]*\)|\[[^[\]]*\])*?\.\.\..*/g;
  const found = sourceFiles().flatMap((file) =>
    [...sourceText(file).matchAll(spreading)].map(([call]) => `${file} ${call}`),
  );
  expect(found).toEqual([]);
});

// `...{ a, b }` switches off the check for properties that a type does not have: write the properties out.
it('sources spread no object literals', () => {
  const found = sourceFiles().flatMap((file) =>
    sourceText(file)
      .split('\n')
      .flatMap((line, i) => (line.includes('...{') ? [`${file}:${i + 1} ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});

// What is written elsewhere is not made harmless: names of files and kernels reach terminals.
it('only cli/common/output.ts writes to the standard outputs', () => {
  const naming = (pattern: RegExp) => sourceFiles().filter((file) => pattern.test(sourceText(file)));
  expect(naming(/\bconsole\.|\bprocess\.(?:stdout|stderr)\b/)).toEqual(['cli/main.ts']);
  expect(naming(/\b(?:new Output\()/)).toEqual(['cli/main.ts']);
  const written = [...sourceText('cli/main.ts').matchAll(/process\.std(?:out|err)[.,)]\w*/g)].map(
    ([use]) => use,
  );
  expect([...new Set(written)].sort()).toEqual([
    'process.stderr)',
    'process.stderr.on',
    'process.stdout)',
    'process.stdout.on',
  ]);
});

/** What people read: output, rules, docs, comments and test titles. Recordings and tables of other tools keep their own words. */
const PROSE = /^(?:src|web|test|python|docs|bench|scripts|zoo)\/.*\.(?:tsx?|mjs|py|md)$|^[A-Z]+\.md$/;
const NOT_OURS =
  /^(?:test\/fixtures|zoo\/(?:clean|fixtures))\/|\/(?:dmon|machine|doctor)\/|nvidia-smi|style\.test\.ts$/;
const prose = () =>
  execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
    .split('\0')
    .filter((file) => PROSE.test(file) && !NOT_OURS.test(file) && existsSync(join(ROOT, file)));

/** The style sheet shows what not to write. */
const proseOf = (file: string) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return file === 'CONTRIBUTING.md' ? text.replace(/^## Words$[\s\S]*?^(?=## )/m, '') : text;
};

// CONTRIBUTING.md, "Words". Each of these has one right spelling, so none may come back.
it.each([
  ['a space before a percent sign', /(?:\d|\}) %(?=[`'",.;:)]|$)/gm],
  ['"a step" for "per step"', /\b(?:ms|µs|MB|kB|GB|launches|kernels) a (?:step|second|rank|batch)\b/g],
  [
    'British spelling',
    /\b\w*(?:utilis|synchronis|colour|recognis|neighbour|summaris|analys(?:e|ed|ing)\b|behaviour)\w*/gi,
  ],
  ['"for ever" and "mended"', /\b(?:for ever|mended)\b/gi],
])('prose has no %s', (_, pattern) => {
  const found = prose().flatMap((file) =>
    [...proseOf(file).matchAll(pattern)].map(([text]) => `${file}: ${text}`),
  );
  expect(found).toEqual([]);
});

// An editing pass is under way: these counts may only fall. Lower them with every edit.
it.each([
  ['told', /\btold\b/gi, 161],
  ['said', /\bsaid\b/gi, 282],
  ['beside', /\bbeside\b/gi, 359],
  ['lie and lies', /\blies?\b/gi, 164],
  ['of which', /\bof which\b/gi, 59],
])('prose says "%s" no more often than before', (_, pattern, most) => {
  const count = prose().reduce((sum, file) => sum + [...proseOf(file).matchAll(pattern)].length, 0);
  expect(count).toBeLessThanOrEqual(most);
});
