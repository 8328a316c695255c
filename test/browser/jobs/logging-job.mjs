// Stands for a training job: for every line on its standard input, two ranks write so many more steps to their event logs.
// Rank 1 waits for its data, and rank 0 for rank 1.
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const folder = join(process.env.WHYSLOW_OUT, 'cuda_event_profiler');
mkdirSync(folder, { recursive: true });
const [data, forward, backward, optimizer] = [[5, 60], 20, 30, 5];
const period = data[1] + forward + backward + optimizer;
let step = 0;

for await (const line of createInterface({ input: process.stdin })) {
  for (const end = step + Number(line); step < end; step++) for (const rank of [0, 1]) record(rank);
  console.log(`wrote ${step} steps`);
}

function record(rank) {
  const begin = step * period + 1000;
  const wait = data[rank];
  const ready = begin + data[1] + forward + 5;
  const parts = [
    ['data_wait', begin, begin + wait],
    ['forward', begin + wait, begin + wait + forward],
    ['collective:all_reduce', begin + wait + forward + 5, ready + 25],
    ['backward', begin + wait + forward, ready + 25],
    ['optimizer', ready + 25, ready + 30],
    ['training_step', begin, begin + period],
  ];
  const lines = parts.map(([name, start, to]) =>
    JSON.stringify({
      name,
      step,
      rank,
      duration_ms: to - start,
      start_ms: start,
      micro: 0,
      clock: 'host',
      run: process.env.WHYSLOW_RUN,
    }),
  );
  appendFileSync(join(folder, `cuda_events_rank_${rank}.jsonl`), `${lines.join('\n')}\n`);
}
