import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { simulateRun } from '../../test/helpers/simulate/simulate.js';
import { optionsOf, type Scenario } from './simulated-options.js';

/** The built library, because that has threads. */
const { facts } = (await import(
  new URL('../../dist/index.js', import.meta.url).href
)) as typeof import('../../src/index.js');

/** Traces of this many ranks are on disk at a time. */
const AT_ONCE = 256;

/** Simulates a run and keeps only its facts and the truth. Returns the folder; made once. */
export async function simulatedFacts(ranks: number, seed: number, scenario: Scenario): Promise<string> {
  const folder = `.bench/facts-${ranks}-${scenario.name}-${seed}`;
  if (existsSync(folder)) return folder;
  const [traces, unfinished] = [`${folder}.traces`, `${folder}.unfinished`];
  rmSync(unfinished, { recursive: true, force: true });
  const run = simulateRun(optionsOf(ranks, seed, scenario));
  for (let from = 0; from < run.files.length; from += AT_ONCE) {
    rmSync(traces, { recursive: true, force: true });
    mkdirSync(traces, { recursive: true });
    for (const { name, json } of run.files.slice(from, from + AT_ONCE))
      writeFileSync(join(traces, `${name}.gz`), gzipSync(json, { level: 1 }));
    await facts(traces, { folder: unfinished });
  }
  rmSync(traces, { recursive: true, force: true });
  const { stepMs, costMs } = run.truth;
  writeFileSync(join(unfinished, 'truth.json'), JSON.stringify({ stepMs, costMs }));
  renameSync(unfinished, folder);
  return folder;
}
