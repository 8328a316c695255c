import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomNormal } from './watched-job.js';

/** The log of a job whose input takes 2 ms, and 40 ms from step 2000 on. */
export async function slowInput(out: string): Promise<void> {
  const random = randomNormal(2);
  const lines: object[] = [
    { whyslow: 1, run: 'r', rank: 0, world_size: 1, anchors: [{ at: 'start', wall_ns: 1.8e18 }] },
  ];
  for (let step = 0; step < 4000; step += 10) {
    const data_wait = step < 2000 ? 2 : 40;
    const start_ms = step * 102 + Math.max(0, step - 2000) * 38;
    const times = { data_wait, training_step: data_wait + 100 * Math.exp(0.01 * random()) };
    for (const [name, duration_ms] of Object.entries(times))
      lines.push({ name, step, rank: 0, duration_ms, start_ms, clock: 'host', run: 'r' });
  }
  await mkdir(join(out, 'cuda_event_profiler'), { recursive: true });
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(join(out, 'cuda_event_profiler', 'cuda_events_rank_0.jsonl'), text);
}
