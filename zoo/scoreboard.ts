import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { diagnose } from '../src/library/diagnose.js';
import { confidenceTable } from './confidence.js';
import { type CaseScore, type Ratio, scoreCase, share, type Totals, totalsOf } from './score.js';
import { accuracyTable, type ScoredSet } from './table.js';
import { readTruth, type ZooTruth } from './truth.js';

/**
 * `npm run zoo [DIR...]`: diagnoses every case under DIR (default: all in this repository) and compares the answers with what
 * was measured. Ends with the table of docs/accuracy.md. Exits with 1 when a score is below its floor.
 */
const FLOOR = { verdict: 0.95, top2: 0.9, first: 0.9, gain: 0.6, inRange: 0.6, step: 0.85 };
const MOST_OVERPROMISED = 0.1;

/** The trace of a case. Null: only its truth is kept. */
export const traceOf = (directory: string, name: string): string | null =>
  ['rank0.json.gz', 'rank0.json.zst'].map((file) => join(directory, name, file)).find(existsSync) ?? null;

export async function scoreZoo(directory: string): Promise<{ truth: ZooTruth; scores: CaseScore[] }> {
  const truth = readTruth(directory);
  const scores: CaseScore[] = [];
  for (const run of truth.runs) {
    const trace = traceOf(directory, run.name);
    if (!trace) continue;
    scores.push(scoreCase(run, await diagnose([trace], { steps: null, ranks: null, jobs: 1 })));
  }
  return { truth, scores };
}

export function missedFloors(totals: Totals): string[] {
  const { overpromised, falsePromises } = totals;
  const low = (Object.keys(FLOOR) as (keyof typeof FLOOR)[]).filter((k) => share(totals[k]) < FLOOR[k]);
  return [
    ...low.map((k) => `${k} ${percent(totals[k])} is below ${Math.round(100 * FLOOR[k])}%`),
    ...(overpromised.right > MOST_OVERPROMISED * overpromised.of
      ? [`${overpromised.right} fixes promised over 1.3 × measured`]
      : []),
    ...(falsePromises > 0 ? [`${falsePromises} false gains`] : []),
  ];
}

const percent = (r: Ratio) => `${r.right}/${r.of} (${Math.round(100 * share(r))}%)`;
const mark = (ok: boolean | null) => (ok === null ? '·' : ok ? '✓' : '✗');
const times = (x: number | null) => (x === null ? '–' : `×${x < 10 ? x.toFixed(2) : x.toFixed(1)}`);
const rangeText = (r: CaseScore['range']) => (r === null ? '–' : `${short(r[0])}–${short(r[1])}`);
const short = (x: number) => (x < 10 ? x.toFixed(2) : x.toFixed(0));
const ms = (x: number | null) => (x === null ? '–' : x < 100 ? x.toFixed(2) : x.toFixed(0));

function table(scores: readonly CaseScore[]): string {
  const head = `${'case'.padEnd(24)} ${'verdict'.padEnd(10)} ${'first fixes'.padEnd(16)} ${'gain: pred.'.padStart(11)} ${'range'.padStart(11)} ${'measured'.padStart(9)}     ${'step: est.'.padStart(11)} ${'true'.padStart(8)}`;
  const rows = scores.map((s) =>
    [
      s.name.padEnd(24),
      `${mark(s.verdict)} ${s.answer}`.padEnd(10),
      `${mark(s.top2)} ${s.fixes.slice(0, 3).join(' ')}`.padEnd(16),
      times(s.predicted).padStart(11),
      rangeText(s.range).padStart(11),
      times(s.measured).padStart(9),
      mark(s.gain),
      mark(s.inRange),
      ms(s.stepMs).padStart(11),
      ms(s.trueStepMs).padStart(8),
      mark(s.step),
      s.overpromised ? ' PROMISED TOO MUCH' : '',
      s.falsePromises.length > 0 ? ` FALSE GAIN ${s.falsePromises.join(', ')}` : '',
    ].join(' '),
  );
  return [head, ...rows].join('\n');
}

function summary(totals: Totals): string {
  return [
    `verdict ${percent(totals.verdict)}`,
    `top-2 fix ${percent(totals.top2)}`,
    `first fix is the one that gained ${percent(totals.first)}`,
    `gain within 30% ${percent(totals.gain)}`,
    `measured gain in range ${percent(totals.inRange)}, median width ×${totals.rangeWidth.toFixed(2)}`,
    `promised over 1.3 × measured ${totals.overpromised.right} of ${totals.overpromised.of}`,
    `step within 20% ${percent(totals.step)}`,
    ...(totals.attachedStep.of > 0 ? [`of the step after a profile ${percent(totals.attachedStep)}`] : []),
    `false gains ${totals.falsePromises}`,
  ].join(' · ');
}

const zoo = fileURLToPath(new URL('.', import.meta.url));
export const SHIPPED = ['fixtures', 'clean/a', 'clean/b', 'clean/new', 'clean/unseen'];

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const directories = args.filter((a) => !a.startsWith('--'));
  const all: CaseScore[] = [];
  const sets: ScoredSet[] = [];
  for (const directory of directories.length > 0 ? directories : SHIPPED.map((name) => join(zoo, name))) {
    const { truth, scores } = await scoreZoo(directory);
    all.push(...scores);
    sets.push({ name: SHIPPED.find((name) => join(zoo, name) === resolve(directory)) ?? directory, scores });
    if (args.includes('--json')) process.stdout.write(`${JSON.stringify({ directory, scores }, null, 1)}\n`);
    else
      process.stdout.write(
        `${truth.gpu}, torch ${truth.torch}: ${directory}\n${table(scores)}\n${summary(totalsOf(scores))}\n\n`,
      );
  }
  const totals = totalsOf(all);
  if (!args.includes('--json')) process.stdout.write(`${confidenceTable(all)}\n`);
  if (sets.length > 1) process.stdout.write(`all: ${summary(totals)}\n`);
  if (!args.includes('--json')) process.stdout.write(`\n${accuracyTable(sets)}\n`);
  const missed = missedFloors(totals);
  if (missed.length === 0) return;
  process.stderr.write(`below the floor: ${missed.join('; ')}\n`);
  process.exitCode = 1;
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) await main();
