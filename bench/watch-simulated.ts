/**
 * Long simulated runs through the watch: how soon planted changes are found, false alarms, memory.
 *
 * npm run bench:watch -- [--steps 1000000] [--ranks 64] [--change 0.02] [--seed 1] [--kind job|rank|none] [--noise quiet|busy]
 *
 * One step in 2,000 takes 5× as long, and one rank of each step is last. The rest of the noise is that of recorded jobs.
 */
import { parseArgs } from 'node:util';
import { JobWatch } from '../src/watch/job/job-watch.js';
import { randomNormal } from '../test/helpers/watched-job.js';

const { values } = parseArgs({
  args: process.argv.slice(2).filter((a) => a !== '--'),
  options: {
    steps: { type: 'string', default: '1000000' },
    ranks: { type: 'string', default: '64' },
    change: { type: 'string', default: '0.02' },
    kind: { type: 'string', default: 'job' },
    noise: { type: 'string', default: 'quiet' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '150' },
  },
});
const [steps, ranks, change, seed] = [values.steps, values.ranks, values.change, values.seed].map(Number) as [
  number,
  number,
  number,
  number,
];
/**
 * `common`: by how much single steps of all ranks vary, `own`: those of one rank more than that. `wander`: how far the level
 * moves by itself, and `memory`: what is left of that after one recorded step.
 */
const NOISE = {
  // zoo/ranks: steps of 20 to 37 ms on one GPU vary by 2 to 8%, neighbors hardly depend on each other.
  quiet: { common: 0.03, own: 0.03, wander: 0.01, memory: 0.82 },
  // A CPU job of 14 minutes on a machine with other programs: 8%, and means of 16 and of 64 recorded steps by 3.6% and 2.7%.
  busy: { common: 0.07, own: 0.07, wander: 0.027, memory: 0.98 },
};
const noise = NOISE[values.noise === 'busy' ? 'busy' : 'quiet'];
const STRIDE = 10;
const STEP_MS = 100;
const LATE_RANK = Math.min(17, ranks - 1);

let [start, wander, step] = [0, 0, 0];
const random = randomNormal(seed);
const found: string[] = [];
const watch = new JobWatch((i) => {
  if (i.state === 'open')
    found.push(
      `step ${step} (certain at ${i.detected_step}): ${i.kind} since ${i.step} by ${(100 * i.change).toFixed(1)}% ranks [${i.ranks}] ${i.cause}`,
    );
});
for (let rank = 0; rank < ranks; rank++) watch.join(rank);
for (let rank = 0; rank < ranks; rank++) watch.begin(rank, { run: 's', startedNs: 1.8e18, worldSize: ranks });
const at = Math.floor(steps / 2);
const began = performance.now();
for (; step < steps; step += STRIDE) {
  wander = noise.memory * wander + noise.wander * Math.sqrt(1 - noise.memory ** 2) * random();
  const common = Math.exp(wander + noise.common * random());
  const rare = Math.abs(random()) > 3.48 ? 5 : 1;
  const own: number[] = [];
  for (let rank = 0; rank < ranks; rank++) {
    const slower = step >= at && (values.kind === 'job' || (values.kind === 'rank' && rank === LATE_RANK));
    own.push(STEP_MS * common * rare * Math.exp(noise.own * random()) * (slower ? 1 + change : 1));
  }
  const whole = own.reduce((a, b) => Math.max(a, b));
  for (let rank = 0; rank < ranks; rank++) {
    const mine = own[rank]!;
    const phases = new Map([
      ['data_wait', 0.02 * mine],
      ['forward', 0.31 * mine],
      ['backward', 0.6 * mine],
      ['optimizer', 0.05 * mine],
      ['collective:all_reduce', whole - mine],
    ]);
    watch.step(rank, { step, start, whole, phases, outside: new Map(), disturbed: false });
  }
  // Steps between the recorded ones vary less together than one alone.
  start += whole * STRIDE;
  if (performance.now() - began > 1000 * Number(values.seconds)) break;
}
watch.flush();
globalThis.gc?.();
const { heapUsed, rss } = process.memoryUsage();
console.log(
  `${values.noise} ${values.kind} ${(100 * change).toFixed(0)}% seed ${seed}: ${Math.min(step, steps).toLocaleString('en')} steps × ${ranks} ranks, change at ${at.toLocaleString('en')}, ${((performance.now() - began) / 1000).toFixed(0)} s, heap ${(heapUsed / 1e6).toFixed(0)} MB, rss ${(rss / 1e6).toFixed(0)} MB`,
);
for (const line of found) console.log(`  ${line}`);
if (found.length === 0) console.log('  nothing found');
