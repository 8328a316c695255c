import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { sourceFiles, sourceText } from './import-graph.js';

const CODE = '([a-z0-9]+(?:-[a-z0-9]+)+)';
/** How sources write the code of a problem: as an argument, as a field, or as the key of a table of texts. */
const WRITTEN = [
  `\\bfound\\(\\s*(?:'\\w+'|\\w+),\\s*'${CODE}'`,
  `\\b(?:add|addNamed|note|problem)\\(\\s*'${CODE}'`,
  `\\bcode: '${CODE}',\\s*(?:count|message)`,
  `^\\s*'${CODE}': (?:\\{\\s*message|\\[\\s*['"\`A-Z])`,
].map((pattern) => new RegExp(pattern, 'gm'));

it('docs/problems.md explains every problem code', () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/problems.md', import.meta.url)), 'utf8');
  const explained = new Set(
    [...page.matchAll(new RegExp(`^\\| \`${CODE}\` `, 'gm'))].map(([, code]) => code!),
  );
  const missing = sourceFiles()
    .map(sourceText)
    .filter((text) => text.includes('consequence'))
    .flatMap((text) => WRITTEN.flatMap((pattern) => [...text.matchAll(pattern)].map(([, code]) => code!)))
    .filter((code) => !explained.has(code));
  expect(explained.size).toBeGreaterThan(150);
  expect(missing).toEqual([]);
});

it('docs/problems.md explains no code that is gone', () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/problems.md', import.meta.url)), 'utf8');
  const everything = sourceFiles().map(sourceText).join('\n');
  const gone = [...page.matchAll(new RegExp(`^\\| \`${CODE}\` `, 'gm'))]
    .map(([, code]) => code!)
    .filter((code) => !everything.includes(`'${code}'`) && !code.startsWith('truncated-'));
  expect(gone).toEqual([]);
});
