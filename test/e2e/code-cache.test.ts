import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder, type Ran, root, start } from '../helpers/cli.js';

const TRACE = join(root, 'zoo/fixtures/h2d_pinned/rank0.json.gz');
const BUNDLES = ['diagnose', 'cli'];
const QUICK = [
  ['diagnose', '--help'],
  ['rules', '--help'],
];
const expected = run(root);

/** From each of the bundles. */
async function run(folder: string, flags: readonly string[] = [], commands = QUICK): Promise<readonly Ran[]> {
  const program = join(folder, 'bin/whyslow.js');
  const ran: Ran[] = [];
  for (const command of commands)
    ran.push(
      await start(process.execPath, [...flags, program, ...command], { stdin: new Uint8Array() }).ended,
    );
  return ran;
}

/** A copy of the package, changed by the test. */
const withCopy = (test: (folder: string) => Promise<void>) =>
  inFolder(async (folder) => {
    for (const part of ['bin', 'dist', 'package.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    for (const part of ['node_modules', 'wasm']) symlinkSync(join(root, part), join(folder, part));
    await test(folder);
  });

const change = (file: string, edit: (bytes: Buffer) => Buffer) =>
  writeFileSync(file, edit(readFileSync(file)));
const flipped = (bytes: Buffer) => {
  const at = bytes.length >> 1;
  bytes[at] = bytes[at]! ^ 1;
  return bytes;
};
const withoutModules = (folder: string) => {
  for (const name of BUNDLES) rmSync(join(folder, `dist/${name}.js`));
};

describe('compiled code next to the bundles', () => {
  it('a checkout runs the compiled code: the modules are not loaded', () =>
    withCopy(async (folder) => {
      withoutModules(folder);
      const commands = [['diagnose', TRACE], ['rules']];
      const ran = await run(folder, [], commands);
      expect(ran.map(({ code }) => code)).toEqual([0, 0]);
    }));

  it.each(BUNDLES)('%s is ASCII, also in regular expressions: it is read as Latin-1', (name) => {
    const source = readFileSync(join(root, `dist/${name}.cjs`));
    expect(source.findIndex((byte) => byte > 0x7f)).toBe(-1);
  });

  it('the compiled code is accepted by V8', async () => {
    const check = `
      const { scriptOf, unsealed } = require('./bin/code-cache.js');
      const { readFileSync } = require('node:fs');
      for (const name of ${JSON.stringify(BUNDLES)}) {
        const source = readFileSync('dist/' + name + '.cjs');
        const code = unsealed(source, readFileSync('dist/' + name + '.code'));
        console.log(String(scriptOf(name, source, code).cachedDataRejected));
      }`;
    const { stdout } = await start(process.execPath, ['-e', check]).ended;
    expect(stdout).toBe('false\nfalse\n');
  });

  it.each<[string, (folder: string, name: string) => void]>([
    ['is missing', (folder, name) => rmSync(join(folder, `dist/${name}.code`))],
    ['is empty', (folder, name) => writeFileSync(join(folder, `dist/${name}.code`), '')],
    [
      'is cut',
      (folder, name) => change(join(folder, `dist/${name}.code`), (all) => all.subarray(0, all.length >> 1)),
    ],
    ['has one wrong bit', (folder, name) => change(join(folder, `dist/${name}.code`), flipped)],
    ['is of another build', (folder, name) => change(join(folder, `dist/${name}.cjs`), flipped)],
    ['has no bundle', (folder, name) => rmSync(join(folder, `dist/${name}.cjs`))],
  ])('the compiled code is not used where it %s', (_, damage) =>
    withCopy(async (folder) => {
      damage(folder, 'diagnose');
      const diagnoses = () => run(folder, [], QUICK.slice(0, 1));
      expect(await diagnoses()).toEqual((await expected).slice(0, 1));
      // Only the modules were left to run.
      withoutModules(folder);
      const [{ code, stderr } = {}] = await diagnoses();
      expect(stderr).toMatch('not built yet');
      expect(code).toBe(2);
    }),
  );

  it('the compiled code is not used by another version of Node', () =>
    withCopy(async (folder) => {
      const other = join(folder, 'other.cjs');
      writeFileSync(other, "Object.defineProperty(process, 'version', { value: 'v99.0.0' });");
      expect(await run(folder, ['--require', other])).toEqual(await expected);
      withoutModules(folder);
      for (const { code } of await run(folder, ['--require', other])) expect(code).toBe(2);
    }));

  it('the code is compiled again where flags of V8 differ', async () => {
    expect(await run(root, ['--no-opt'])).toEqual(await expected);
  });

  it('the compiled code is sealed with all that it depends on', () => {
    const { sealed, unsealed } = createRequire(import.meta.url)('../../bin/code-cache.js');
    const [source, code] = [Buffer.from('source'), Buffer.from('code')];
    expect(unsealed(source, sealed(source, code))).toEqual(code);
    expect(unsealed(Buffer.from('sourcf'), sealed(source, code))).toBeNull();
  });
});
