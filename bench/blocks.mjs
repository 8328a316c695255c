// A trace in blocks (FILE), read with 2, 3, 4, … cores: by threads for its blocks, and as a file without blocks (--jobs 2). Plain
// JavaScript, so that it runs on a machine that has Node, dist/ and wasm/ but no packages. Linux: taskset chooses the cores.
//   node bench/blocks.mjs FILE [rounds]
import { spawnSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg } from 'node:os';

const [file, rounds = '5'] = process.argv.slice(2);
const CORES = [2, 3, 4, 8, 16].filter((n) => n <= availableParallelism());
const WAYS = {
  'gz → model': (jobs) => ['bench/lib/to-model.mjs', file, jobs],
  diagnose: (jobs) => ['bin/whyslow.js', 'diagnose', '--json', '--jobs', jobs, file],
};
const sides = Object.entries(WAYS).flatMap(([way, args]) =>
  CORES.flatMap((cores) =>
    ['2', String(Math.max(3, cores))].map((jobs) => ({ way, cores, jobs, args: args(jobs), runs: [] })),
  ),
);

function run({ cores, args, runs }) {
  const started = performance.now();
  const { stdout, stderr, status } = spawnSync(
    '/usr/bin/env',
    [
      'bash',
      '-c',
      'TIMEFORMAT="cpu %U %S"; time "$@"',
      '-',
      'taskset',
      '-c',
      `0-${cores - 1}`,
      process.execPath,
      ...args,
    ],
    { encoding: 'utf8' },
  );
  const wall = (performance.now() - started) / 1000;
  if (status !== 0) throw new Error(stderr);
  const [, user, system] = /cpu ([\d.]+) ([\d.]+)/.exec(stderr);
  const own = /^seconds=([\d.]+)/m.exec(stdout);
  runs.push({ wall: own ? Number(own[1]) : wall, cpu: Number(user) + Number(system) });
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
for (let round = 0; round < Number(rounds); round++) for (const side of sides) run(side);
console.log(
  `${cpus().length} × ${cpus()[0].model}, Node ${process.versions.node}, load ${loadavg()[0].toFixed(1)}\n`,
);
console.log('| | cores | threads | median s | best s | CPU s |\n|---|---|---|---|---|---|');
for (const { way, cores, jobs, runs } of sides) {
  const walls = runs.map((r) => r.wall);
  const figures = [median(walls), Math.min(...walls), median(runs.map((r) => r.cpu))].map((s) =>
    s.toFixed(3),
  );
  console.log(`| ${[way, cores, jobs === '2' ? 'no blocks' : jobs, ...figures].join(' | ')} |`);
}
