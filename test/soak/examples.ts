// Runs the examples under `whyslow run`, as their first lines say, and checks the answers. Needs a Python with torch: .venv.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Report } from '../../src/report/report.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cli = join(root, 'bin/whyslow.js');
const env = { ...process.env, PATH: `${join(root, '.venv/bin')}:${process.env.PATH}` };
const out = mkdtempSync(join(tmpdir(), 'whyslow-examples-'));
const TWO_RANKS = ['torchrun', '--nproc-per-node', '2'];

/** The planted fault of each example: what limits it, and the rule that must be among the first three. */
const EXPECTED = [
  { name: 'slow_dataset', command: ['python'], bottleneck: ['data'], finding: 'T4' },
  { name: 'gc_every_step', command: ['python'], bottleneck: ['host'], finding: 'W4' },
  { name: 'double_precision', command: ['python'], bottleneck: ['compute'], finding: 'T13' },
  { name: 'checkpoint_often', command: ['python'], bottleneck: ['host'], finding: 'W4' },
  { name: 'small_collectives', command: TWO_RANKS, bottleneck: ['comms'], finding: 'W2' },
  { name: 'late_rank', command: TWO_RANKS, bottleneck: ['host'], finding: 'W1' },
] as const;

function measured(name: string, command: readonly string[], ...more: string[]): Report {
  const run = join(out, name + more.join(''));
  const args = [cli, 'run', '--no-diagnose', '--out', run, '--', ...command, `examples/${name}.py`, ...more];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name}: ${stderr}`);
  return JSON.parse(
    execFileSync(process.execPath, [cli, 'diagnose', run, '--json'], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    }),
  ) as Report;
}

let wrong = 0;
for (const { name, command, bottleneck, finding } of EXPECTED) {
  const before = measured(name, command);
  const after = measured(name, command, '--fixed');
  const rules = before.findings.slice(0, 3).map((f) => f.rule);
  const isRight =
    (bottleneck as readonly string[]).includes(before.verdict.bottleneck) && rules.includes(finding);
  if (!isRight) wrong++;
  const steps = [before, after].map((report) => report.step.ms?.toFixed(1));
  console.log(
    `${isRight ? 'right' : 'WRONG'}  ${name}: ${before.verdict.sentence} [${rules.join(', ')}]; step ${steps[0]} ms, fixed ${steps[1]} ms`,
  );
}
rmSync(out, { recursive: true });
process.exitCode = wrong > 0 ? 1 : 0;
