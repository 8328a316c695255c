import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { mean } from '../src/base/statistics.js';
import { compareStepTimes } from '../src/compare/step-times/compare-step-times.js';
import { Random } from '../src/compare/step-times/random.js';
import { diagnose } from '../src/library/diagnose.js';
import { SIMULATIONS } from '../test/helpers/step-times.js';

/**
 * How often `whyslow compare` is wrong: `npm run bench:compare [LOG…]`. A LOG is an event log or a folder with one. Splits of the
 * same run must not differ; a run made slower by 5% must be found slower. Without LOG: the logs of the zoo.
 */
const SPLITS = 200;
const REPEATS = 300;
const STEPS = 200;
const SLOWER = 1.05;
/** Shorter logs have no two halves. */
const MIN_STEPS = 16;
/** Of these, parts of up to 200 steps are taken from anywhere. */
const LONG = 300;

const percent = (part: number) => `${(100 * part).toFixed(1)}%`;
const isAlarm = (verdict: string) => verdict === 'faster' || verdict === 'slower';

const paths = process.argv.length > 2 ? process.argv.slice(2) : inside('zoo/event-logs', 'zoo/ranks');
const logs: { path: string; steps: readonly number[] }[] = [];
for (const path of paths) {
  const report = await diagnose(path).catch(() => null);
  if (report && report.step.times_ms.length >= MIN_STEPS) logs.push({ path, steps: report.step.times_ms });
}
splitsOfLogs();
simulated();

function inside(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder)
      .map((name) => join(folder, name))
      .filter((path) => path.endsWith('.jsonl.gz') || statSync(path).isDirectory()),
  );
}

/** Two neighboring parts of a log, as long as each other. */
function splitsOfLogs(): void {
  const random = new Random(1);
  let [alarms, found, tried] = [0, 0, 0];
  for (let i = 0; i < SPLITS && logs.length > 0; i++, tried++) {
    const { steps } = logs[i % logs.length]!;
    const part = Math.floor((steps.length / 2) * (0.7 + 0.3 * random.next()));
    const from = random.below(steps.length - 2 * part + 1);
    const [before, after] = [steps.slice(from, from + part), steps.slice(from + part, from + 2 * part)];
    if (isAlarm(compareStepTimes([before], [after]).verdict)) alarms++;
    if (compareStepTimes([before], [after.map((s) => SLOWER * s)]).verdict === 'slower') found++;
  }
  const lengths = logs.map((log) => log.steps.length);
  console.log(
    `${tried} splits of ${logs.length} real logs (${mean(lengths).toFixed(0)} steps on average): false alarms ${percent(alarms / tried)}, 5% found in ${percent(found / tried)}`,
  );
  for (const { path, steps } of logs.filter((log) => log.steps.length >= LONG)) longLog(path, steps);
}

function longLog(path: string, steps: readonly number[]): void {
  const random = new Random(2);
  const part = Math.min(STEPS, Math.floor(0.45 * steps.length));
  const tries = 50;
  let [alarms, found] = [0, 0];
  for (let i = 0; i < tries; i++) {
    const from = random.below(steps.length - 2 * part + 1);
    const [before, after] = [steps.slice(from, from + part), steps.slice(from + part, from + 2 * part)];
    if (isAlarm(compareStepTimes([before], [after]).verdict)) alarms++;
    if (compareStepTimes([before], [after.map((s) => SLOWER * s)]).verdict === 'slower') found++;
  }
  console.log(
    `  ${path}, ${part} steps per side: false alarms ${percent(alarms / tries)}, 5% found in ${percent(found / tries)}`,
  );
}

function simulated(): void {
  console.log('\n| simulated, 200 steps per side | false alarms | 5% found |\n| --- | --- | --- |');
  const random = new Random(3);
  const all: number[] = [];
  for (const { name, steps } of SIMULATIONS) {
    let [alarms, found] = [0, 0];
    for (let i = 0; i < REPEATS; i++) {
      const both = steps(2 * STEPS, random);
      const [before, after] = [both.slice(0, STEPS), both.slice(STEPS)];
      if (isAlarm(compareStepTimes([before], [after]).verdict)) alarms++;
      if (compareStepTimes([before], [after.map((s) => SLOWER * s)]).verdict === 'slower') found++;
    }
    all.push(alarms / REPEATS);
    console.log(`| ${name} | ${percent(alarms / REPEATS)} | ${percent(found / REPEATS)} |`);
  }
  console.log(`| all | ${percent(mean(all))} | |`);
  severalRuns();
}

/** Three runs per side that differ by 3% from run to run, 5% noise of steps. */
function severalRuns(): void {
  const random = new Random(4);
  const side = (factor: number) =>
    Array.from({ length: 3 }, () => {
      const run = factor * 100 * Math.exp(0.03 * random.normal());
      return Array.from({ length: STEPS }, () => run * Math.exp(0.05 * random.normal()));
    });
  let [alarms, found] = [0, 0];
  for (let i = 0; i < REPEATS; i++) {
    if (isAlarm(compareStepTimes(side(1), side(1)).verdict)) alarms++;
    if (compareStepTimes(side(1), side(1.15)).verdict === 'slower') found++;
  }
  console.log(
    `\n3 runs per side, 3% from run to run: false alarms ${percent(alarms / REPEATS)}, 15% found in ${percent(found / REPEATS)}`,
  );
}
