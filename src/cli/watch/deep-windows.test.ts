import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { inFolder } from '../../../test/helpers/folder.js';
import { watchSimulated } from '../../../test/helpers/watched-job.js';
import { DeepWindows, type Recorded } from './deep-windows.js';

const [BEHIND] = watchSimulated({
  steps: 12_000,
  ranks: 4,
  of: (step, rank) => (rank === 2 && step >= 6000 ? { other: 12 } : {}),
});

/** Ranks of another machine, which count as running. */
async function jobSince(out: string, hours: number): Promise<void> {
  await mkdir(join(out, 'ranks'));
  await mkdir(join(out, 'control'));
  const anchors = [{ at: 'start', wall_ns: (Date.parse(BEHIND!.detected_time!) - hours * 3.6e6) * 1e6 }];
  for (const rank of [0, 1, 2, 3])
    await writeFile(
      join(out, 'ranks', `rank_${rank}.json`),
      JSON.stringify({ rank, run: 'r', host: 'elsewhere', pid: 1, anchors }),
    );
}

const requests = async (out: string) =>
  (await readdir(join(out, 'control'))).filter((name) => name.startsWith('request-'));

it('one window is asked for on the rank that changed and on one that did not; their traces belong to the incident', () =>
  inFolder(async (out) => {
    await jobSince(out, 10);
    const earlier = join(out, 'traces', 'step_21');
    await mkdir(earlier, { recursive: true });
    await writeFile(join(earlier, 'rank-2-coord-2-trace.json'), '{');
    const recorded: Recorded[] = [];
    const windows = new DeepWindows(out, 0.005, (r) => recorded.push(r));
    windows.incident(BEHIND!, [0, 1, 2, 3]);
    // While it is under way, nothing else is asked for.
    windows.incident(BEHIND!, [0, 1, 2, 3]);
    while ((await requests(out)).length === 0) await sleep(10);
    const [name, ...more] = await requests(out);
    expect(more).toEqual([]);
    const { id, ranks, steps } = JSON.parse(await readFile(join(out, 'control', name!), 'utf8'));
    expect([ranks, steps]).toEqual([[0, 2], 3]);
    const answer = (rank: number) =>
      writeFile(
        join(out, 'control', `done-${id}-rank-${rank}.json`),
        JSON.stringify({ rank, status: 'done', path: `traces/step_7000/rank-${rank}-trace.json` }),
      );
    await answer(0);
    await answer(2);
    await writeFile(
      join(out, 'control', `plan-${id}.json`),
      JSON.stringify({ first_step: 7000, steps, ranks }),
    );
    while (recorded.length === 0) await sleep(10);
    // Windows that cannot be compared are still named.
    expect(recorded).toEqual([
      {
        id: BEHIND!.id,
        evidence: [],
        traces: ['step_21/rank-2-coord-2', 'step_7000/rank-0', 'step_7000/rank-2'].map(
          (path) => `traces/${path}-trace.json`,
        ),
      },
    ]);
    expect(await readdir(join(out, 'control'))).toEqual([]);
  }));

it('no window is asked for if the job is too young for its cost, or if a profiler cannot explain the incident', () =>
  inFolder(async (out) => {
    await jobSince(out, 0.05);
    const windows = new DeepWindows(out, 0.005, () => expect.unreachable());
    windows.incident(BEHIND!, [0, 1, 2, 3]);
    windows.incident({ ...BEHIND!, kind: 'pauses' }, [0]);
    windows.incident({ ...BEHIND!, state: 'ended' }, [0]);
    windows.incident({ ...BEHIND!, alarm: false }, [0]);
    await sleep(300);
    expect(await requests(out)).toEqual([]);
  }));
