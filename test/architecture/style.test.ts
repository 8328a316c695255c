import { expect, it } from 'vitest';
import { sourceFiles, sourceText } from './import-graph.js';

// More than some 120,000 arguments overflow the stack, and how many there are depends on the input.
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
