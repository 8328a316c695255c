import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root, start } from '../helpers/cli.js';

/** How often V8 compiles a loop while it runs, as it says itself. */
async function compiledLoops(path: string): Promise<number> {
  const args = ['--trace-osr', join(root, 'bin/whyslow.js'), 'diagnose', join(root, path)];
  const { stdout } = await start(process.execPath, args).ended;
  return stdout.split('\n').filter((line) => line.startsWith('[OSR')).length;
}

it('compiles no running loops for one trace, but does for a folder, which may hold thousands', async () => {
  expect(await compiledLoops('zoo/fixtures/adam_forloop/rank0.json.gz')).toBe(0);
  expect(await compiledLoops('zoo/fixtures/adam_forloop')).toBeGreaterThan(0);
});
