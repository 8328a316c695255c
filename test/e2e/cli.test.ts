import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder, root, whyslow } from '../helpers/cli.js';

const { privateFolder } = createRequire(import.meta.url)('../../bin/compile-cache.js') as {
  privateFolder: (parent: string) => string | null;
};

describe('the command line', () => {
  it('the command line has every command that advice and documents name', async () => {
    const { stdout: help } = await whyslow(['--help']);
    const commands = new Set([...help.matchAll(/^ {2}([a-z]+) /gm)].map((found) => found[1]));
    const { stdout: rules } = await whyslow(['rules', '--json']);
    const fixes = (JSON.parse(rules) as { rules: { fix: { text: string; code: string } }[] }).rules;
    const documents = ['README.md', 'docs/usage.md', 'docs/inputs.md', 'python/README.md'];
    const named = [
      ...fixes.flatMap(({ fix }) => [...`${fix.text}\n${fix.code}`.matchAll(/\bwhyslow ([a-z]+)/g)]),
      ...documents.flatMap((file) => {
        const code = readFileSync(join(root, file), 'utf8').match(/```[\s\S]*?```|`[^`]+`/g) ?? [];
        return [...code.join('\n').matchAll(/(?:^|`|\$ )whyslow ([a-z]+)/gm)];
      }),
    ].map((found) => found[1]!);
    expect(named).toContain('capture');
    expect(named.filter((name) => !commands.has(name))).toEqual([]);
  });

  it('shows the four everyday commands first in its help, and every command in one group', async () => {
    const { stdout } = await whyslow(['--help']);
    const names = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map((found) => found[1]!);
    expect(names.slice(0, 4)).toEqual(['run', 'diagnose', 'compare', 'open']);
    expect(new Set(names).size).toBe(names.length);
    expect(stdout).not.toContain('\nCommands:');
  });

  it.each(['diagnose', 'facts', 'compare', 'lint', 'rules', 'run', 'capture'])(
    '%s --help has an example and fits the page',
    async (command) => {
      const { stdout, code } = await whyslow([command, '--help']);
      expect(code).toBe(0);
      expect(stdout).toContain(`$ whyslow ${command}`);
      expect(stdout.split('\n').filter((l) => l.length > 80)).toEqual([]);
    },
  );

  it.each([
    ['an unknown bottleneck', ['diagnose', 'x', '--fail-on', 'disk'], 'not one of gpu, data, comms'],
    ['no steps', ['diagnose', 'x', '--steps', 'a'], '3-6, 3-, -6 or 3'],
    ['no ranks', ['diagnose', 'x', '--ranks', '5-2'], 'ends before it starts'],
    ['an unknown engine', ['facts', 'x', '--on', 'spark'], 'Allowed choices are ray, dask, slurm.'],
    ['an address without a cluster', ['diagnose', 'x', '--address', 'a:1'], 'add --on ray or --on dask'],
    [
      'an address for Slurm',
      ['diagnose', 'x', '--on', 'slurm', '--address', 'a:1'],
      'add --on ray or --on dask',
    ],
    ['no path', ['diagnose'], 'missing required argument'],
    ['no command', ['run', '--trace'], 'missing required argument'],
    ['no share', ['run', '--max-overhead', '2', '--', 'true'], 'such as 0.5%, or a fraction such as 0.005'],
    ['an unknown option', ['run', '--trase', '--', 'true'], 'Did you mean --trace?'],
    ['no steps to capture', ['capture', 'x', '--steps', '0'], 'a whole number from 1'],
    ['an unknown rule', ['rules', 'T9999'], 'there is no rule T9999'],
  ])('%s: exit 2 with what was wrong', async (_, args, reason) => {
    const { stdout, stderr, code } = await whyslow(args);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
    expect(stdout).toBe('');
  });

  it('lists the rules as JSON', async () => {
    const { stdout, code } = await whyslow(['rules', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ schema: 'whyslow/rules/1', rules: expect.any(Array) });
  });

  it('keeps compiled code in a folder that only its user can enter', () =>
    inFolder(async (folder) => {
      const own = privateFolder(folder);
      expect(readdirSync(folder)).toEqual([basename(own!)]);
      expect(lstatSync(own!).mode & 0o777).toBe(0o700);
      expect(privateFolder(folder)).toBe(own);
    }));

  it('uses no folder for it that somebody else may have prepared', () =>
    inFolder(async (folder) => {
      const name = `whyslow-cache-${process.getuid?.()}`;
      const [open, linked] = [join(folder, 'open'), join(folder, 'linked')];
      mkdirSync(join(open, name), { recursive: true, mode: 0o755 });
      mkdirSync(linked);
      symlinkSync(folder, join(linked, name));
      expect([open, linked, '/no/such/folder'].map(privateFolder)).toEqual([null, null, null]);
    }));

  it('no command but mcp loads zod', () => {
    const dist = join(root, 'dist');
    const scripts = readdirSync(dist).filter((f) => f.endsWith('.js') && !f.startsWith('serve-'));
    expect(scripts).toContain('cli.js');
    const loading = scripts.filter((f) => /["']zod["']/.test(readFileSync(join(dist, f), 'utf8')));
    expect(loading).toEqual([]);
  });
});
