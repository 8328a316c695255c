import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { quantile } from '../src/base/statistics.js';
import { compare } from '../src/library/compare.js';
import { readTruth } from '../zoo/truth.js';

/**
 * Pairs of the zoo, faulty and fixed, against what was measured without a profiler: `npm run bench:compare-zoo DIR…`. From
 * traces alone (`--traces`) or with the event logs too.
 */
const directories = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const tracesOnly = process.argv.includes('--traces');

interface Row {
  readonly pair: string;
  readonly truth: number;
  readonly low: number;
  readonly likely: number;
  readonly high: number;
  readonly verdict: string;
}

const rows: Row[] = [];
for (const directory of directories.length > 0 ? directories : ['zoo/fixtures']) {
  const { runs } = readTruth(directory);
  for (const { name, twin, measured_speedup: truth } of runs) {
    if (!twin || truth === undefined) continue;
    const [before, after] = [name, twin].map((n) => pathOf(join(directory, n)));
    if (!before || !after) continue;
    const { step, verdict } = await compare([before], [after]);
    const { low, likely, high } = step.speedup;
    rows.push({
      pair: `${basename(directory)}: ${name} → ${twin}`,
      truth,
      low,
      likely,
      high,
      verdict,
    });
  }
}

function pathOf(folder: string): string | null {
  if (!existsSync(folder)) return null;
  const trace = ['rank0.json.gz', 'rank0.json.zst'].map((file) => join(folder, file)).find(existsSync);
  return tracesOnly ? (trace ?? null) : folder;
}

console.log('| pair | truth | compare, 95% | verdict | off by |');
console.log('| ---- | ----- | ------------- | ------- | ------ |');
for (const { pair, truth, low, likely, high, verdict } of rows)
  console.log(
    `| ${pair} | ×${truth.toFixed(2)} | ×${likely.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)}) | ${verdict} | ${(100 * Math.abs(likely / truth - 1)).toFixed(0)}% |`,
  );
/** A smaller true difference has no sign worth naming. */
const CLEAR = 1.05;
const clear = rows.filter((r) => Math.max(r.truth, 1 / r.truth) >= CLEAR);
const told = clear.filter((r) => r.verdict === 'faster' || r.verdict === 'slower');
const right = told.filter((r) => r.verdict === (r.truth > 1 ? 'faster' : 'slower'));
const errors = rows.map((r) => Math.abs(r.likely / r.truth - 1));
const inRange = rows.filter((r) => r.low <= r.truth && r.truth <= r.high).length;
console.log(
  `\n${rows.length} pairs; of ${clear.length} with a true difference of 5% or more: ${right.length} right sign, ${told.length - right.length} wrong, ${clear.length - told.length} undecided`,
);
console.log(
  `size: median ${(100 * quantile(errors, 0.5)).toFixed(1)}%, 90% within ${(100 * quantile(errors, 0.9)).toFixed(0)}%; truth inside the interval ${inRange}/${rows.length}`,
);
