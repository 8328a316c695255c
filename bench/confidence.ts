/**
 * How often verdicts of a stated confidence are right, over everything whose truth is known: `node scripts/tool.mjs bench/confidence.ts
 * [--forged TABLE] [--jobs REPORTS]`. See bench/README.md. What is not there, such as ../shared, is left out.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diagnose } from '../src/library/diagnose.js';
import type { Report } from '../src/report/report.js';
import { readTraceFile, withColdStart, withoutMarks, withoutPins } from '../test/helpers/relations.js';
import { Random } from '../test/helpers/simulate/random.js';
import { SHIPPED, traceOf } from '../zoo/scoreboard.js';
import { readTruth } from '../zoo/truth.js';

const SHARED = '../shared';
/** Lower ends of the rows. Below 0.5 the answer is `unknown`. */
const ROWS = [0.9, 0.8, 0.7, 0.6, 0.5, 0] as const;

interface Answer {
  readonly said: number;
  readonly right: boolean;
  readonly name: string;
}
const answers = new Map<string, Answer[]>();

function note(
  set: string,
  name: string,
  { verdict }: Pick<Report, 'verdict'>,
  accepted: readonly string[],
): void {
  const { bottleneck, confidence } = verdict;
  const right = accepted.includes(bottleneck);
  answers.set(set, [
    ...(answers.get(set) ?? []),
    { said: confidence, right, name: `${name}: ${bottleneck}` },
  ]);
}

const flag = (name: string) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? null : process.argv[at + 1]!;
};

async function zoo(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-confidence-'));
  const copy = join(folder, 'rank0.json');
  try {
    for (const directory of [...SHIPPED.map((name) => join('zoo', name)), join(SHARED, 'zoo')]) {
      if (!existsSync(directory)) continue;
      for (const [i, { name, bottleneck, acceptable = [] }] of readTruth(directory).runs.entries()) {
        const path = traceOf(directory, name);
        if (path === null || bottleneck === null) continue;
        const accepted = [bottleneck, ...acceptable];
        note('zoo', `${directory}/${name}`, await diagnose(path, { jobs: 1 }), accepted);
        const random = new Random(i, 0);
        const file = readTraceFile(path);
        const harder = withoutMarks(withoutPins(withColdStart(file, () => random.next())));
        writeFileSync(copy, JSON.stringify(harder));
        note('zoo, cold, without marks and pins', name, await diagnose(copy, { jobs: 1 }), accepted);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function world(): Promise<void> {
  const folder = join(SHARED, 'world');
  if (!existsSync(folder)) return;
  const all = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as {
    file: string;
    acceptable: string[];
  }[];
  for (const { file, acceptable } of all) {
    const report = await diagnose(join(folder, file)).catch(() => null);
    if (report) note('world', file, report, acceptable);
  }
}

/** Whole jobs: their event logs, and the same with a trace. */
async function live(): Promise<void> {
  const folder = join(SHARED, 'live');
  if (!existsSync(folder)) return;
  const { runs } = JSON.parse(readFileSync(join(folder, 'truth.json'), 'utf8')) as {
    runs: { name: string; bottleneck: string }[];
  };
  for (const { name, bottleneck } of runs)
    for (const how of ['run', 'trace'])
      if (existsSync(join(folder, name, how)))
        note('live jobs', `${name}/${how}`, await diagnose(join(folder, name, how)), [bottleneck]);
}

/** Reports that bench/jobs_score.py left in a folder. */
function jobs(folder: string): void {
  const truth = JSON.parse(readFileSync(join(SHARED, 'jobs/truth.json'), 'utf8')) as {
    jobs: { name: string; acceptable_bottlenecks: string[] }[];
  };
  for (const { name, acceptable_bottlenecks } of truth.jobs) {
    const path = join(folder, `${name}.json`);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    if (text.startsWith('{')) note('jobs', name, JSON.parse(text), acceptable_bottlenecks);
  }
}

/** The table that bench/forged-verdicts.ts printed. */
function forged(path: string): void {
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [, name, truth, bottleneck, said] = line.split('|').map((cell) => cell.trim());
    if (!/^\d\.\d+$/.test(said ?? '')) continue;
    const accepted = truth!.replace(/ \(.*/, '').split(' or ');
    const verdict = { bottleneck, confidence: Number(said) } as Report['verdict'];
    note('forged ranks', name!, { verdict }, accepted);
  }
}

/** Event logs of real loops; the file is named after the bottleneck. */
async function logs(): Promise<void> {
  const folder = 'zoo/event-logs';
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.gz'))) {
    const truth = /data|gpu|host/.exec(file.replace('data_hidden', 'gpu'))![0];
    note('event logs', file, await diagnose(join(folder, file)), [truth]);
  }
}

await zoo();
await world();
await live();
await logs();
const [table, reports] = [flag('--forged'), flag('--jobs')];
if (table !== null) forged(table);
if (reports !== null) jobs(reports);

const sets = [...answers.keys()];
console.log(`| stated | ${sets.join(' | ')} | all |\n|${'---|'.repeat(sets.length + 2)}`);
for (const [i, from] of ROWS.entries()) {
  const to = ROWS[i - 1] ?? 1.01;
  const inRow = (list: readonly Answer[]) => list.filter(({ said }) => said >= from && said < to);
  const cell = (list: readonly Answer[]) => {
    const those = inRow(list);
    if (those.length === 0) return '–';
    return from === 0 ? String(those.length) : `${those.filter((a) => a.right).length} of ${those.length}`;
  };
  const all = [...answers.values()].flat();
  const title = from === 0 ? 'unknown' : `${from.toFixed(1)}–${Math.min(1, to).toFixed(1)}`;
  console.log(`| ${[title, ...sets.map((set) => cell(answers.get(set)!)), cell(all)].join(' | ')} |`);
}
console.log('\nwrong:');
for (const [set, list] of answers)
  for (const { name, said, right } of list)
    if (!right && said >= 0.5) console.log(`- ${set}, ${name}, ${said.toFixed(2)}`);
