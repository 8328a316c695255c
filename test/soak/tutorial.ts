// Follows docs/tutorials/first-diagnosis.md literally, in a fresh environment, and prints how long it took to the first verdict.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs/tutorials/first-diagnosis.md'), 'utf8');
const venv = mkdtempSync(join(tmpdir(), 'whyslow-tutorial-'));
const runs = join(venv, 'runs');
const env = { ...process.env, PATH: `${join(venv, 'bin')}:${process.env.PATH}` };
const PINNED = /^torch==.*$/m.exec(readFileSync(join(root, 'python/requirements-dev.txt'), 'utf8'))![0];

function sh(command: string): string {
  const { status, stdout, stderr } = spawnSync('bash', ['-c', command], { cwd: root, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command}\n${stdout}${stderr}`);
  return stdout + stderr;
}

/** Commands in blocks of their own. Output stays in the fresh environment's folder. */
const commands = [...page.matchAll(/^```\n([\s\S]*?)^```$/gm)]
  .flatMap(([, block]) => block!.trimEnd().split('\n'))
  .filter((line) => /^(?:npm|pip|whyslow) /.test(line))
  .map((line) => line.replaceAll('runs/', `${runs}/`));

try {
  sh(`python3 -m venv ${venv} && ${venv}/bin/pip install --quiet ${PINNED} numpy`);
  const start = performance.now();
  let verdict: string | null = null;
  for (const command of commands) {
    const printed = sh(command);
    verdict ??= /^\w+-bound: .*$/m.exec(printed)?.[0] ?? null;
    const minutes = ((performance.now() - start) / 60_000).toFixed(1);
    console.log(`${minutes} min  ${command.replaceAll(`${runs}/`, 'runs/')}`);
    if (command.includes('compare') || command.includes('try '))
      console.log(printed.split('\n').slice(0, 12).join('\n'));
  }
  console.log(`first verdict: ${verdict}`);
  if (commands.length < 6 || !verdict?.startsWith('Data-bound')) process.exitCode = 1;
} finally {
  rmSync(venv, { recursive: true, force: true });
}
