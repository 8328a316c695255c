import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { analyseRank } from '../src/analyses/rank-facts.js';
import { baselineOf, RECORDING } from '../src/analyses/replay/recording-cost.js';
import { AS_RECORDED, replay } from '../src/analyses/replay/replay.js';
import { median, quantile } from '../src/base/statistics.js';
import { readRun } from '../src/ingest/run.js';
import { isSteady, readTruth } from './truth.js';

/**
 * `npm run zoo:calibrate DIR...`: what recording an event costs the host, from loops whose step is known with and without
 * the profiler; and how well the middle of all *other* loops corrects each one (leave one out).
 */
interface Fit {
  readonly name: string;
  readonly profiled: number;
  readonly unprofiled: number;
  /** ns an event with which the replay takes as long as was measured. */
  readonly cost: number;
  readonly corrected: (costPerEvent: number) => number;
}

/** The host sets the pace of a loop when the profiler slows it by at least this much. */
const SLOWED = 1.08;

async function fitCase(directory: string, name: string, unprofiledMs: number): Promise<Fit | null> {
  const path = join(directory, name, 'rank0.json.gz');
  if (!existsSync(path)) return null;
  const { trace } = (await readRun(path, { jobs: 1 })).traces[0]!;
  const plan = analyseRank(trace, { steps: null })?.detail?.plan;
  if (!plan) return null;
  const unprofiled = unprofiledMs * 1e6;
  const profiled = replay(plan, AS_RECORDED).step;
  const { recording } = baselineOf(plan, profiled, unprofiled);
  const scaled = (perEvent: number) => {
    const factor = perEvent / RECORDING.likely.perEvent;
    const { perFrame, perGraphKernel } = RECORDING.likely;
    return { perEvent, perFrame: perFrame * factor, perGraphKernel: perGraphKernel * factor };
  };
  return {
    ...{ name, profiled, unprofiled, cost: recording.likely.perEvent },
    corrected: (cost) => replay(plan, scaled(cost)).step,
  };
}

async function main(): Promise<void> {
  const fits: Fit[] = [];
  for (const directory of process.argv.slice(2)) {
    for (const run of readTruth(directory).runs) {
      const fit = isSteady(run) ? await fitCase(directory, run.name, run.step_ms) : null;
      if (fit) fits.push(fit);
    }
  }
  const hostBound = fits.filter((f) => f.profiled / f.unprofiled >= SLOWED);
  const others = (f: Fit) => median(hostBound.filter((o) => o !== f).map((o) => o.cost));
  let within = 0;
  for (const f of fits) {
    const cost = others(f);
    const error = f.corrected(cost) / f.unprofiled - 1;
    if (Math.abs(error) <= 0.2) within++;
    const mark = hostBound.includes(f) ? `${(f.cost / 1000).toFixed(2)} µs` : 'not slowed';
    const shown = [f.profiled, f.unprofiled, f.corrected(cost)].map((ns) =>
      (ns / 1e6).toFixed(2).padStart(8),
    );
    process.stdout.write(
      `${f.name.padEnd(24)} profiled ${shown[0]} true ${shown[1]} left out ${shown[2]} ms ${(100 * error).toFixed(0).padStart(4)} %  ${mark}\n`,
    );
  }
  const costs = hostBound.map((f) => f.cost);
  const at = (q: number) => (quantile(costs, q) / 1000).toFixed(2);
  process.stdout.write(
    `cost of an event on ${costs.length} host-bound loops: median ${at(0.5)}, 10 % ${at(0.1)}, 90 % ${at(0.9)} µs\n`,
  );
  process.stdout.write(`left out, within 20 %: ${within} of ${fits.length}\n`);
}

await main();
