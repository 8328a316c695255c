import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SOAK } from '../../test/helpers/cases.js';

/** docs/adding-a-rule.md is right: in a copy of the sources its files and lines make a rule that works. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const guide = readFileSync(join(root, 'docs/adding-a-rule.md'), 'utf8');
const blocks = [...guide.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map(([, path, code]) => ({
  path: path!,
  code: code!,
}));
const copy = mkdtempSync(join(realpathSync(tmpdir()), 'whyslow-guide-'));

beforeAll(() => {
  for (const name of ['src', 'test/helpers', 'package.json', 'tsconfig.json'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  for (const name of ['node_modules', 'wasm']) symlinkSync(realpathSync(join(root, name)), join(copy, name));
  for (const { path, code } of blocks) {
    writeFileSync(join(copy, path), addedTo(path, code));
  }
});
/** New files as they are. Lines go to the end of a list of exports, and into an array. */
function addedTo(path: string, code: string): string {
  if (!/\/(?:list|finding-ids)\.ts$/.test(path)) return code;
  const before = readFileSync(join(root, path), 'utf8');
  const entries = code.match(/^ .*\n/gm)?.join('') ?? '';
  if (entries === '') return before + code;
  return code.replace(entries, '') + before.replace('] as const', `${entries}] as const`);
}

afterAll(() => rmSync(copy, { recursive: true }));

function run(tool: string, ...args: readonly string[]): string {
  try {
    return execFileSync(process.execPath, [join(root, 'node_modules', tool), ...args], {
      cwd: copy,
      encoding: 'utf8',
    });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${tool} ${args.join(' ')}\n${stdout}${stderr}`);
  }
}

it('docs/adding-a-rule.md has the rule, its fix, its test and the lines in the lists', () => {
  expect(blocks.map((b) => b.path)).toEqual([
    'src/rules/kernels/sorts-in-step.ts',
    'src/remedies/kit/finding-ids.ts',
    'src/remedies/fixes/select-largest.ts',
    'src/remedies/fixes/list.ts',
    'src/rules/kernels/sorts-in-step.test.ts',
    'src/rules/list.ts',
  ]);
});

it('the example in docs/adding-a-rule.md type-checks', () => {
  const only = { extends: './tsconfig.json', include: blocks.map((b) => b.path) };
  writeFileSync(join(copy, 'tsconfig.guide.json'), JSON.stringify(only));
  expect(run('typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.guide.json')).toBe('');
});

// In `npm run soak` only: a vitest inside vitest takes as long as hundreds of tests.
if (SOAK)
  it('the example in docs/adding-a-rule.md passes its own test and those of the list', () => {
    const tests = ['src/rules/kernels/sorts-in-step.test.ts', 'src/rules/list.test.ts'];
    expect(run('vitest/vitest.mjs', 'run', '--root', copy, ...tests)).toMatch(/Test Files.*2 passed/);
  });
