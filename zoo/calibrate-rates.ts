import { median } from '../src/base/statistics.js';
import { type TraceView, viewTrace } from '../src/diagnosis/ranks/rank-view.js';
import { readRun } from '../src/ingest/run.js';
import { priceOf } from '../src/rules/kit/price.js';
import { isMatrixWork, workTime } from '../src/rules/kit/work.js';
import { analyzeTrace } from '../src/traces/analyze-trace.js';
import { traceOf } from './scoreboard.js';
import { type CaseTruth, readTruth } from './truth.js';

/**
 * `npm run zoo:calibrate-rates DIR...`: how much faster matrix work got between a case and its twin, against the ratio
 * of the vendor's peaks; and the gain predicted for each pair with the constant taken from all *other* pairs.
 */
type Wide = 'fp32' | 'tf32';
type Target = 'tf32' | 'bf16';

interface Pair {
  readonly name: string;
  readonly from: Wide;
  readonly to: Target;
  readonly view: TraceView;
  /** Measured ratio of matrix time, over the ratio of peaks. */
  readonly reached: number;
  readonly peaks: number;
  readonly measured: number;
}

const precisions = { fp32: ['fp32'], tf32: ['tf32'], bf16: ['bf16', 'fp16'] } as const;

async function viewOf(directory: string, name: string): Promise<TraceView | null> {
  const path = traceOf(directory, name);
  if (!path) return null;
  const facts = analyzeTrace((await readRun(path, { jobs: 1 })).traces[0]!.trace, { steps: null });
  return facts && viewTrace(0, facts, null);
}

const matrixTime = (view: TraceView, type: Wide | Target) =>
  workTime(view, (k) => isMatrixWork(k) && (precisions[type] as readonly string[]).includes(k.precision)).ns;

async function pairOf(directory: string, truth: CaseTruth): Promise<Pair | null> {
  if (!truth.twin || !truth.measured_speedup || !truth.rules.some((r) => r === 'T9' || r === 'T13'))
    return null;
  const [view, twin] = [await viewOf(directory, truth.name), await viewOf(directory, truth.twin)];
  if (!view || !twin) return null;
  const from: Wide = matrixTime(view, 'fp32') > matrixTime(view, 'tf32') ? 'fp32' : 'tf32';
  const to: Target = matrixTime(twin, 'bf16') > matrixTime(twin, 'tf32') ? 'bf16' : 'tf32';
  const peaks = view.rates!.tflops[to]! / view.rates!.tflops[from]!;
  if (peaks <= 1) return null;
  const reached = matrixTime(view, from) / matrixTime(twin, to) / peaks;
  return {
    name: `${truth.name} → ${truth.twin}`,
    from,
    to,
    view,
    reached,
    peaks,
    measured: truth.measured_speedup,
  };
}

/** The gain when matrix work runs faster by this much. Going to 16 bit also makes fused fp32 attention 8 times faster. */
function predict({ view, from, to, peaks }: Pair, reached: number): number {
  const price = priceOf(view, ({ works }) => {
    for (let w = 0; w < works.length; w++) {
      const kernel = view.facts.kernels[works.kernel[w]!]!;
      if (isMatrixWork(kernel) && kernel.precision === from)
        works.duration[w]! /= Math.max(1, peaks * reached);
      else if (to === 'bf16' && kernel.class === 'attention' && kernel.precision === 'fp32')
        works.duration[w]! /= 8;
    }
  });
  return price?.speedup.likely ?? Number.NaN;
}

async function main(): Promise<void> {
  const pairs: Pair[] = [];
  for (const directory of process.argv.slice(2)) {
    for (const truth of readTruth(directory).runs) {
      const pair = await pairOf(directory, truth);
      if (pair) pairs.push(pair);
    }
  }
  for (const p of pairs) {
    const others = pairs.filter((o) => o !== p && o.from === p.from && o.to === p.to);
    const constant = others.length > 0 ? median(others.map((o) => o.reached)) : Number.NaN;
    const gain = others.length > 0 ? predict(p, constant) : Number.NaN;
    const error = `${(100 * (gain / p.measured - 1)).toFixed(0)}%`;
    process.stdout.write(
      `${p.name.padEnd(44)} ${p.from} → ${p.to}  own ${p.reached.toFixed(2)}  others ${constant.toFixed(2)}  gain ${gain.toFixed(2)}  measured ${p.measured.toFixed(2)}  ${error}\n`,
    );
  }
}

await main();
