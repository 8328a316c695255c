import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Roots } from './roots.js';

let base: string;
let roots: Roots;

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'whyslow-roots-'));
  for (const folder of ['runs/a', 'runs-other', 'secret']) mkdirSync(join(base, folder), { recursive: true });
  for (const file of ['runs/a/trace.json', 'runs/@odd', 'secret/key', 'runs-other/x'])
    writeFileSync(join(base, file), '');
  mkdirSync(join(base, 'runs/linked/deep'), { recursive: true });
  symlinkSync(join(base, 'secret'), join(base, 'runs/linked/deep/link'));
  symlinkSync(join(base, 'runs/a'), join(base, 'runs/inside'));
  roots = await Roots.ofClient([pathToFileURL(join(base, 'runs')).href, 'https://example.org/x']);
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const at = (path: string) => join(base, path);

describe('paths of a client with roots', () => {
  it.each([
    ['a file', 'runs/a/trace.json', 'runs/a/trace.json'],
    ['a folder', 'runs/a', 'runs/a'],
    ['a link to a folder inside', 'runs/inside/trace.json', 'runs/a/trace.json'],
    ['one that does not exist yet', 'runs/new/deep', 'runs/new/deep'],
  ])('a path of a client is allowed: %s', async (_, path, real) => {
    expect(await roots.allowed(at(path))).toBe(at(real));
  });

  it('a relative path of a client is looked for in its roots', async () => {
    expect(await roots.allowed('a/trace.json')).toBe(at('runs/a/trace.json'));
    expect(await roots.allowed('@odd')).toBe(at('runs/@odd'));
  });

  it.each([
    ['a file elsewhere', () => at('secret/key')],
    ['a link that leads outside', () => at('runs/linked/deep/link/key')],
    ['a folder that holds such a link', () => at('runs/linked')],
    ['dots', () => `${at('runs')}/../secret/key`],
    ['relative dots', () => '../secret/key'],
    ['a name that begins like the root', () => at('runs-other/x')],
    ['a new file elsewhere', () => at('secret/new')],
    ['a pattern', () => `${at('runs')}/*.json`],
    ['an address', () => 's3://bucket/run'],
    ['a list of paths', () => `@${at('secret/key')}`],
    ['standard input', () => '-'],
    ['nothing', () => ''],
  ])('a path of a client is refused: %s', async (_, path) => {
    await expect(roots.allowed(path())).rejects.toThrow();
  });

  it('roots that do not exist allow nothing', async () => {
    const none = await Roots.of([at('nowhere')]);
    await expect(none.allowed(at('runs/a/trace.json'))).rejects.toThrow('outside the folders');
  });

  it('without roots every path is allowed but standard input', async () => {
    expect(await Roots.everything.allowed('runs/*.json')).toBe('runs/*.json');
    await expect(Roots.everything.allowed('-')).rejects.toThrow('name a file');
  });
});
