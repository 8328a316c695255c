import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root, whyslow } from '../helpers/cli.js';

/** Runs the README's examples and compares the output with what it shows. `...` stands for lines left out. */
const EXAMPLES = [
  ...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```\n\$ whyslow (.*)\n([\s\S]*?)^```$/gm),
].map(([, command, shown]) => ({ command: command!, parts: shown!.split(/^\.\.\.\n/m) }));

describe('examples in the README', () => {
  it('are found', () => {
    expect(EXAMPLES.length).toBeGreaterThanOrEqual(2);
  });

  it.each(EXAMPLES)('$command', async ({ command, parts }) => {
    const { stdout } = await whyslow(command.split(' '), { cwd: root });
    for (const part of parts) expect(stdout).toContain(part);
  });
});
