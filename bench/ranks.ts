/** Many ranks: one after the other against all cores, in one run. See bench/README.md. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { largeTrace } from './lib/large-trace.js';
import { argument, best, machineLine, median, ratio, sideBySide } from './lib/side-by-side.js';

const RANKS = argument('ranks', 8);
const MB = argument('mb', 250);
const ROUNDS = argument('rounds', 5);

const one = await largeTrace('zoo/fixtures/data_io_w0/rank0.json.gz', `.bench/data_io_w0-${MB}.json.gz`, MB);
const folder = `.bench/ranks-${RANKS}x${MB}`;
mkdirSync(folder, { recursive: true });
for (let r = 0; r < RANKS; r++) copyFileSync(one, `${folder}/rank${r}_trace.json.gz`);

const inspect = (...args: string[]): [string, ...string[]] => [
  process.execPath,
  'bin/whyslow.js',
  'inspect',
  '--json',
  folder,
  ...args,
];
/** One core: what a program would need that does one thing after the other. Linux only. */
const oneCore = spawnSync('taskset', ['-c', '0', 'true']).status === 0;
const measured = await sideBySide(
  [
    ...(oneCore
      ? [
          {
            name: 'one core',
            command: ['taskset', '-c', '0', ...inspect('--jobs', '1')] as [string, ...string[]],
          },
        ]
      : []),
    { name: 'one file at a time (inflating in parallel)', command: inspect('--jobs', '1') },
    { name: `default (${availableParallelism()} files at once)`, command: inspect() },
  ],
  ROUNDS,
);
console.log(`${machineLine()}\n${RANKS} ranks of ${MB} MB of JSON, ${ROUNDS} rounds\n`);
console.log('| | median s | best s | × the first | peak RSS MB |\n|---|---|---|---|---|');
for (const m of measured) {
  const cells = [
    m.name,
    median(m.seconds).toFixed(3),
    best(m.seconds).toFixed(3),
    ratio(m, measured[0]!).toFixed(2),
    m.peakMb.toFixed(0),
  ];
  console.log(`| ${cells.join(' | ')} |`);
}
