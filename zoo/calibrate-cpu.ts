import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mean } from '../src/base/statistics.js';
import { readRun } from '../src/ingest/run.js';
import { costOnCpu } from '../src/replay/recording-cost.js';
import { analyzeTrace } from '../src/traces/analyze-trace.js';
import { traceOf } from './scoreboard.js';

/**
 * `node scripts/tool.mjs zoo/calibrate-cpu.ts DIR…`: what recording costs a loop without a GPU, on recordings of
 * programs/cpu_loops.py. What an operator costs is fitted without ten of them, and all are estimated with it.
 */
interface Loop {
  readonly name: string;
  /** Per step, ms. */
  readonly recorded: number;
  readonly truth: number;
  readonly operators: number;
  readonly frames: number;
  /** ns. Null: too few views. */
  readonly view: number | null;
}

/** Every third loop by name is left out, until there are ten: variants of a program are next to each other. */
const LEFT_OUT = 10;
const EVERY = 3;
/** Repeats that differ by more are no truth. */
const STEADY_SPREAD = 0.25;
const WITHIN = 0.2;
/** As in diagnosis/ranks/correct-step.ts. */
const LEAST_LEFT = 0.3;

async function readLoops(directory: string): Promise<Loop[]> {
  const { runs } = JSON.parse(readFileSync(join(directory, 'truth.json'), 'utf8')) as {
    runs: { name: string; step_ms: number; spread: number }[];
  };
  const loops: Loop[] = [];
  for (const { name, step_ms, spread } of runs) {
    const path = traceOf(directory, name);
    if (!path || spread > STEADY_SPREAD) continue;
    const facts = analyzeTrace((await readRun(path, { jobs: 1 })).traces[0]!.trace, { steps: null });
    if (!facts?.detail) continue;
    const { events, frames, steps, viewTime } = facts.detail;
    loops.push({
      name,
      recorded: facts.steps.recorded / 1e6,
      truth: step_ms,
      operators: events / steps,
      frames: frames / steps,
      view: viewTime,
    });
  }
  return loops;
}

/** `views`: what an operator costs, in times of making a view. Without it, what the product assumes. */
const estimate = ({ recorded, operators, frames, view }: Loop, views?: number) =>
  Math.max(LEAST_LEFT * recorded, recorded - costOnCpu(operators, frames, view, views) / 1e6);
const error = (loop: Loop, views?: number) => estimate(loop, views) / loop.truth - 1;

/** Of a loop that hardly has operators, the cost per operator is noise: the steps should be right, not the costs. */
function bestViews(loops: readonly Loop[]): number {
  const rms = (views: number) => mean(loops.map((loop) => Math.log(1 + error(loop, views)) ** 2));
  const tried = Array.from({ length: 120 }, (_, i) => 0.05 * (i + 1));
  return tried.reduce((best, views) => (rms(views) < rms(best) ? views : best));
}

function summary(title: string, loops: readonly Loop[], views?: number): string {
  const errors = loops.map((loop) => error(loop, views));
  const within = errors.filter((e) => Math.abs(e) <= WITHIN).length;
  return `${title}: within 20% ${within} of ${loops.length}, bias ${(100 * mean(errors)).toFixed(1)}%`;
}

async function main(): Promise<void> {
  const all = (await Promise.all(process.argv.slice(2).map(readLoops))).flat();
  all.sort((a, b) => a.name.localeCompare(b.name));
  const leftOut = all.filter((_, i) => i % EVERY === 1).slice(0, LEFT_OUT);
  const fitted = all.filter((l) => !leftOut.includes(l) && l.frames === 0 && l.view !== null);
  const views = bestViews(fitted);
  console.log('| loop | recorded | estimated | measured | error | view | |\n|---|---|---|---|---|---|---|');
  for (const loop of all) {
    const cells = [
      loop.name,
      loop.recorded.toFixed(3),
      estimate(loop, views).toFixed(3),
      loop.truth.toFixed(3),
      `${(100 * error(loop, views)).toFixed(0)}%`,
      loop.view === null ? '–' : `${loop.view.toFixed(0)} ns`,
      leftOut.includes(loop) ? 'left out' : '',
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
  console.log(`\nfitted on ${fitted.length}: an operator costs ${views.toFixed(2)} views`);
  console.log(summary('fitted on', fitted, views));
  console.log(summary('left out', leftOut, views));
  console.log(summary('all', all, views));
  console.log(summary('all, with the constant of the product', all));
}

await main();
