/** Many ranks: one after the other against all cores, in one run. See bench/README.md. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { largeTrace } from './lib/large-trace.js';
import { argument, best, machineLine, median, ratio, sideBySide } from './lib/side-by-side.js';

const RANKS = argument('ranks', 8);
const MB = argument('mb', 60);
const ROUNDS = argument('rounds', 5);

const one = await largeTrace(
  'test/fixtures/zoo/data_io_w0/rank0.json.gz',
  `.bench/data_io_w0-${MB}.json.gz`,
  MB,
);
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
const measured = await sideBySide(
  [
    {
      name: 'one thread, one file after the other',
      command: inspect('--jobs', '1'),
      env: { UV_THREADPOOL_SIZE: '1' },
    },
    { name: `default (${availableParallelism()} at once)`, command: inspect() },
  ],
  ROUNDS,
);
console.log(`${machineLine()}\n${RANKS} ranks of ${MB} MB of JSON, ${ROUNDS} rounds\n`);
console.log('| | median s | best s | × sequential | peak RSS MB |\n|---|---|---|---|---|');
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
