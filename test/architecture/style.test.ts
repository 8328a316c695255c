import { expect, it } from 'vitest';
import { sourceFiles, sourceText } from './import-graph.js';

// `...{ a, b }` switches off the check for properties that a type does not have: write the properties out.
it('sources spread no object literals', () => {
  const found = sourceFiles().flatMap((file) =>
    sourceText(file)
      .split('\n')
      .flatMap((line, i) => (line.includes('...{') ? [`${file}:${i + 1} ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});
