/**
 * Real jobs under torch.compile on the CPU: what whyslow reads from their TORCH_TRACE logs, against the jobs' own timers.
 *
 * node --import tsx bench/compile-jobs.ts [ragged|breaks|alone]
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readDiagnosis } from '../src/library/diagnose.js';

const RANKS: Readonly<Record<string, number>> = { ragged: 1, breaks: 1, alone: 2 };
const python = resolve('.venv/bin/python');
const wanted = process.argv[2];

for (const [name, world] of Object.entries(RANKS)) {
  if (wanted !== undefined && wanted !== name) continue;
  const folder = mkdtempSync(join(tmpdir(), 'compiled-'));
  const env = {
    ...process.env,
    TORCH_TRACE: join(folder, 'logs'),
    // Nothing from earlier runs.
    TORCHINDUCTOR_CACHE_DIR: join(folder, 'cache'),
    TORCHINDUCTOR_COMPILE_THREADS: '1',
    OMP_NUM_THREADS: '1',
  };
  const run = (rank: number) =>
    new Promise<number | null>((done) => {
      const args = ['bench/compiled_job.py', name, `${rank}`, `${world}`, join(folder, 'own')];
      spawn(python, args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).once('exit', done);
    });
  await Promise.all(Array.from({ length: world }, (_, rank) => run(rank)));
  const { facts, verdict } = await readDiagnosis([join(folder, 'logs')]);
  const { compiling, graphBreaks } = facts.evidence;
  for (let rank = 0; rank < world; rank++) {
    const own = JSON.parse(readFileSync(join(folder, `own-${rank}.json`), 'utf8'));
    const read = compiling?.ranks.find((r) => r.rank === rank || world === 1);
    const seconds = (read?.total ?? Number.NaN) / 1e9;
    console.log(
      `${name}, rank ${rank}: own timers ${own.compiling.toFixed(2)} s of ${own.loop.toFixed(2)} s, ` +
        `whyslow ${seconds.toFixed(2)} s (${((100 * seconds) / own.compiling - 100).toFixed(1)}%); ${own.shapes} shapes`,
    );
  }
  console.log(`  ${verdict.label}: ${verdict.headline}`);
  for (const detail of verdict.details) console.log(`  ${detail}`);
  if (compiling?.alone)
    console.log(`  alone: rank ${compiling.alone.rank}, ${compiling.alone.total / 1e9} s`);
  console.log(
    `  ${graphBreaks.length} graph breaks: ${graphBreaks.map((b) => `${b.file}:${b.line}`).join(', ')}`,
  );
  rmSync(folder, { recursive: true, force: true });
}
