import { basename } from 'node:path';
import { mean, median } from '../src/base/statistics.js';
import { readRun } from '../src/ingest/run.js';
import type { Plan } from '../src/replay/plan.js';
import { launchTime, recordingOf } from '../src/replay/recording-cost.js';
import { AS_RECORDED, replay, replaySteady } from '../src/replay/replay.js';
import { analyzeTrace } from '../src/traces/analyze-trace.js';
import { traceOf } from './scoreboard.js';
import { isSteady, readTruth } from './truth.js';

/**
 * `npm run zoo:calibrate DIR...`: fits which part of op-dense host time is left without the profiler, on loops whose step
 * is known with and without it. Then corrects every loop with what was fitted on *other* programs, and on other sets.
 */
interface Loop {
  readonly name: string;
  readonly set: string;
  readonly plan: Plan;
  readonly profiled: number;
  /** Measured without the profiler. */
  readonly truth: number;
  /** The constant with which the replay takes as long as was measured. Null: the host does not set the pace. */
  readonly left: number | null;
}

/** Outside this range the steps differ for another reason. */
const SENSIBLE = { from: 0.25, to: 1.05 };
/** The host sets the pace where a tenth more host time makes the step this much longer. */
const SENSITIVE = 1.03;

const corrected = (plan: Plan, left: number) => replaySteady(plan, recordingOf(plan, left).likely).step;

async function readLoop(directory: string, name: string, stepMs: number): Promise<Loop | null> {
  const path = traceOf(directory, name);
  if (!path) return null;
  const { trace } = (await readRun(path, { jobs: 1 })).traces[0]!;
  const plan = analyzeTrace(trace, { steps: null })?.detail?.plan;
  if (!plan) return null;
  const truth = stepMs * 1e6;
  const profiled = replay(plan, AS_RECORDED).step;
  return { name, set: basename(directory), plan, profiled, truth, left: fitLeft(plan, truth) };
}

function fitLeft(plan: Plan, truth: number): number | null {
  if (launchTime(plan) === null) return null;
  let [low, high] = [SENSIBLE.from, SENSIBLE.to];
  for (let i = 0; i < 20; i++) {
    const middle = (low + high) / 2;
    if (corrected(plan, middle) > truth) high = middle;
    else low = middle;
  }
  const left = (low + high) / 2;
  if (left < SENSIBLE.from * 1.01 || left > SENSIBLE.to * 0.99) return null;
  return corrected(plan, left * 1.1) > corrected(plan, left) * SENSITIVE ? left : null;
}

const constant = (loops: readonly Loop[]) => median(loops.map((l) => l.left).filter((left) => left !== null));
/** Programs of one family are variants of each other. */
const family = ({ name }: Loop) => name.split('_')[0]!;

interface Error {
  readonly loop: Loop;
  /** Logarithm of estimated ÷ measured. */
  readonly ln: number;
}

/** Every loop corrected with the constant that fits its `others`. */
function errorsOf(loops: readonly Loop[], others: (loop: Loop) => readonly Loop[]): Error[] {
  return loops.map((loop) => ({
    loop,
    ln: Math.log(corrected(loop.plan, constant(others(loop))) / loop.truth),
  }));
}

const WITHIN = 0.2;
const isWithin = ({ ln }: Error) => Math.abs(Math.exp(ln) - 1) <= WITHIN;

function summary(title: string, errors: readonly Error[]): string {
  const rmse = Math.sqrt(mean(errors.map((e) => e.ln ** 2)));
  const bias = 100 * (Math.exp(mean(errors.map((e) => e.ln))) - 1);
  return `${title.padEnd(40)} rmse(ln) ${rmse.toFixed(3)} bias ${bias.toFixed(0).padStart(4)}% within 20%: ${errors.filter(isWithin).length} of ${errors.length}`;
}

/** Between the steps with the high and the low cost, or so near that the noise of the measurement decides. */
function isInRange({ plan, truth }: Loop): boolean {
  const { low, high } = recordingOf(plan);
  return truth >= 0.98 * replaySteady(plan, high).step && truth <= 1.02 * replaySteady(plan, low).step;
}

function row({ loop, ln }: Error): string {
  const [profiled, truth, estimate] = [loop.profiled, loop.truth, loop.truth * Math.exp(ln)].map((ns) =>
    (ns / 1e6).toFixed(2).padStart(8),
  );
  const note = loop.left === null ? '' : `left ${loop.left.toFixed(2)}`;
  return `${loop.set.padEnd(5)} ${loop.name.padEnd(26)} profiled ${profiled} true ${truth} corrected ${estimate} ms ${(100 * (Math.exp(ln) - 1)).toFixed(0).padStart(4)}%  ${note}`;
}

async function main(): Promise<void> {
  const all: Loop[] = [];
  for (const directory of process.argv.slice(2)) {
    for (const run of readTruth(directory).runs) {
      const loop = isSteady(run) ? await readLoop(directory, run.name, run.step_ms) : null;
      if (loop) all.push(loop);
    }
  }
  const hostBound = all.filter((l) => l.left !== null);
  const otherFamilies = (loop: Loop) => hostBound.filter((o) => family(o) !== family(loop));
  const leftOut = errorsOf(all, otherFamilies);
  const lines = leftOut.map(row);
  const sets = [...new Set(all.map((l) => l.set))];
  for (const set of sets) {
    const own = hostBound.filter((l) => l.set === set);
    lines.push(
      `${set}: ${constant(own).toFixed(3)} left at 7 µs per launch, on ${own.length} host-bound loops`,
    );
    if (sets.length === 1) continue;
    const others = hostBound.filter((l) => l.set !== set);
    lines.push(
      summary(
        `${set}, fitted on the other sets`,
        errorsOf(own, () => others),
      ),
    );
  }
  lines.push(`all: ${constant(hostBound).toFixed(3)}`);
  lines.push(summary('host-bound, program left out', errorsOf(hostBound, otherFamilies)));
  lines.push(summary('all, program left out', leftOut));
  lines.push(
    `between low and high: ${hostBound.filter(isInRange).length} of ${hostBound.length} host-bound loops`,
  );
  process.stdout.write(`${lines.join('\n')}\n`);
}

await main();
