import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { root, whyslow } from '../helpers/cli.js';

/** Everything written for readers. Notebooks under docs/internal name commands as they were on that day. */
const LINKED = execFileSync('git', ['ls-files', '-z', '--', '*.md'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const DOCUMENTS = LINKED.filter((file) =>
  /^README\.md$|^python\/README\.md$|^docs\/(?!internal\/|decisions\/)/.test(file),
);
const textOf = (document: string) => readFileSync(join(root, document), 'utf8');

/** Example outputs. `...` stands for lines left out. */
const EXAMPLES = DOCUMENTS.flatMap((document) =>
  [...textOf(document).matchAll(/^```\n\$ whyslow (.*)\n([\s\S]*?)^```$/gm)].map(([, command, shown]) => ({
    document,
    command: command!,
    parts: shown!.split(/^\.\.\.\n/m),
  })),
);

describe('examples', () => {
  it('examples of output are found in the README and the usage page', () => {
    expect(EXAMPLES.map((e) => e.document)).toEqual(expect.arrayContaining(['README.md', 'docs/usage.md']));
  });

  it.each(EXAMPLES)('$document: whyslow $command prints what is shown', async ({ command, parts }) => {
    const { stdout } = await whyslow(command.split(' '), { cwd: root });
    for (const part of parts) expect(stdout).toContain(part);
  });
});

describe('commands in documents', () => {
  const help = new Map<string, string>();
  beforeAll(async () => {
    const { stdout } = await whyslow(['--help']);
    const commands = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name!);
    for (const name of commands) help.set(name, (await whyslow([name, '--help'])).stdout);
  });

  it.each(DOCUMENTS)('%s: every command and option exists', (document) => {
    const code = [...textOf(document).matchAll(/^```[\s\S]*?^```$|`[^`]+`/gm)]
      .map(([text]) => text)
      .join('\n');
    const uses = [...code.matchAll(/(?:^|[`$] ?)whyslow ([a-z]+)\b([^`\n|#]*)/gm)];
    for (const [use, name, rest] of uses) {
      expect([...help.keys()], use).toContain(name);
      // What follows ` -- ` belongs to the command that `run` starts.
      for (const [option] of rest!.split(' -- ')[0]!.matchAll(/--[a-z-]+/g))
        expect(help.get(name!), use).toContain(option);
    }
  });

  it.each(DOCUMENTS)('%s: every npm script exists', (document) => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    for (const [, name] of textOf(document).matchAll(/npm run ([\w:-]+)/g))
      expect(Object.keys(scripts)).toContain(name);
  });

  it.each(LINKED)('%s: every linked file exists', (document) => {
    for (const [, link] of textOf(document).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g))
      expect(existsSync(join(root, dirname(document), link!)), link).toBe(true);
  });
});
