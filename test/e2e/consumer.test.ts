import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../helpers/cli.js';

const project = mkdtempSync(join(tmpdir(), 'whyslow-consumer-'));
const library = readFileSync(join(root, 'docs/library.md'), 'utf8');
const blocks = [...library.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code!);

/** The files that `npm install whyslow` gives. It has no dependencies. */
beforeAll(() => {
  const modules = join(project, 'node_modules');
  const installed = join(modules, 'whyslow');
  for (const part of ['dist', 'wasm/scanner.wasm', 'package.json'])
    cpSync(join(root, part), join(installed, part), { recursive: true });
  mkdirSync(join(modules, '@types'));
  symlinkSync(join(root, 'node_modules/@types/node'), join(modules, '@types/node'));
  cpSync(join(root, 'test/consumer'), project, { recursive: true });
  writeFileSync(join(project, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }');
  blocks.forEach((code, i) => {
    writeFileSync(join(project, `docs-library-${i + 1}.ts`), code);
  });
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

const tsc = (...args: string[]) => {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', project, ...args], {
    encoding: 'utf8',
  });
  return { output: stdout.trim(), status };
};

describe('a strict TypeScript project that installs whyslow', () => {
  it('compiles with the examples of docs/library.md, without zod and without any', () => {
    expect(blocks.length).toBeGreaterThanOrEqual(3);
    expect(tsc()).toEqual({ output: '', status: 0 });
  });

  it('sees no type that needs zod', () => {
    const files = tsc('--listFilesOnly').output.split('\n');
    expect(files.filter((f) => f.includes('whyslow/dist/types')).length).toBeGreaterThan(20);
    expect(files.filter((f) => /zod|-schema|schema-text/.test(f))).toEqual([]);
  });

  it('diagnoses a run', () => {
    const run = join(root, 'zoo/fixtures/data_io_w0');
    const program = join(project, 'built/one-sentence.js');
    const out = execFileSync(process.execPath, [program, run, 'no/such/run'], {
      cwd: project,
      encoding: 'utf8',
    });
    const [answer, failure] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(answer).toMatchObject({ bottleneck: 'data', firstFix: expect.stringContaining('num_workers=0') });
    expect(answer!.sentence).toMatch(/^Data-bound: the GPU spends \d+% of every step waiting/);
    expect(failure!.error).toMatch(/no such file/);
  });
});
