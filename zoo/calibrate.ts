import { median, quantile } from '../src/base/statistics.js';
import { readRun } from '../src/ingest/run.js';
import { baselineOf, launchTime, recordingOf } from '../src/replay/recording-cost.js';
import { AS_RECORDED, replay } from '../src/replay/replay.js';
import { analyseTrace } from '../src/traces/analyse-trace.js';
import { traceOf } from './scoreboard.js';
import { isSteady, readTruth } from './truth.js';

/**
 * `npm run zoo:calibrate DIR...`: fits what recording an event costs the host, from loops whose step is known with and
 * without the profiler, and corrects each loop with the constant fitted on all *others* (leave one out).
 */
interface Fit {
  readonly name: string;
  readonly directory: string;
  readonly profiled: number;
  readonly unprofiled: number;
  /** Cost of an event (ns) for which the replayed step equals the measured one. */
  readonly cost: number;
  /** The same per ns² of launch time. Null: too few launches. */
  readonly perSquare: number | null;
  /** The host sets the pace, and a plausible cost explains the difference. */
  readonly hostBound: boolean;
  readonly corrected: (perSquare: number) => number;
}

const SENSIBLE = { from: 300, to: 7000 };

async function fitCase(directory: string, name: string, unprofiledMs: number): Promise<Fit | null> {
  const path = traceOf(directory, name);
  if (!path) return null;
  const { trace } = (await readRun(path, { jobs: 1 })).traces[0]!;
  const plan = analyseTrace(trace, { steps: null })?.detail?.plan;
  if (!plan) return null;
  const unprofiled = unprofiledMs * 1e6;
  const profiled = replay(plan, AS_RECORDED).step;
  const { likely } = baselineOf(plan, profiled, unprofiled).recording;
  const more = { ...likely, perEvent: likely.perEvent * 1.1 };
  const sensitive = replay(plan, more).step < replay(plan, likely).step * 0.995;
  const launch = launchTime(plan);
  return {
    name,
    directory,
    profiled,
    unprofiled,
    cost: likely.perEvent,
    perSquare: launch === null ? null : likely.perEvent / launch ** 2,
    hostBound: sensitive && likely.perEvent > SENSIBLE.from && likely.perEvent < SENSIBLE.to,
    corrected: (perSquare) => replay(plan, recordingOf(plan, perSquare).likely).step,
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
  const used = fits.filter((f) => f.hostBound && f.perSquare !== null);
  const constant = (among: readonly Fit[]) => median(among.map((f) => f.perSquare!));
  let within = 0;
  for (const f of fits) {
    const leftOut = f.corrected(constant(used.filter((o) => o !== f)));
    const error = leftOut / f.unprofiled - 1;
    if (Math.abs(error) <= 0.2) within++;
    const [profiled, unprofiled, corrected] = [f.profiled, f.unprofiled, leftOut].map((ns) =>
      (ns / 1e6).toFixed(2).padStart(8),
    );
    const note = f.hostBound ? `${(f.cost / 1000).toFixed(2)} µs an event` : '';
    process.stdout.write(
      `${f.name.padEnd(26)} profiled ${profiled} true ${unprofiled} corrected ${corrected} ms ${(100 * error).toFixed(0).padStart(4)} %  ${note}\n`,
    );
  }
  for (const directory of new Set(used.map((f) => f.directory))) {
    const own = used.filter((f) => f.directory === directory);
    process.stdout.write(
      `${directory}: ${constant(own).toExponential(2)} ns an event for each ns² of a launch, on ${own.length} host-bound loops\n`,
    );
  }
  const at = (q: number) =>
    (
      quantile(
        used.map((f) => f.cost),
        q,
      ) / 1000
    ).toFixed(2);
  process.stdout.write(
    `all: ${constant(used).toExponential(2)}; cost of an event: median ${at(0.5)}, 10 % ${at(0.1)}, 90 % ${at(0.9)} µs\n`,
  );
  process.stdout.write(`left out, within 20 %: ${within} of ${fits.length}\n`);
}

await main();
