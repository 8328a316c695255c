import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { drawJson, steps } from '../helpers/draw-trace.js';
import { inFolder } from '../helpers/folder.js';

/** Three steps of 20 ms that begin `at` seconds after some moment in 2026, the first with this number. */
const window = (first: number, at: number) =>
  drawJson(
    steps(
      3,
      20000,
      `host 1  ProfilerStep#${first} 0-20000 | aten::mm 0-100 | cudaLaunchKernel 50-60 #1
       gpu 7   gemm 65-15000 #1`,
    ),
    { baseTimeNanoseconds: 1_790_000_000e9 + at * 1e9 },
  );

it('takes two windows of a TensorBoard folder, written with repeat=2, for one rank', async () => {
  await inFolder(async (folder) => {
    await writeFile(join(folder, 'node1_4711.1790000000000.pt.trace.json'), window(2, 0));
    await writeFile(join(folder, 'node1_4711.1790000060000.pt.trace.json'), window(60, 60));
    const report = await diagnose(folder);
    expect(report.ranks.map((r) => r.rank)).toEqual([0]);
    expect(report.step?.last).toBe(62);
    expect(report.health.problems.map((p) => p.code)).toContain('other-window');
    expect(report.health.problems.map((p) => p.code)).not.toContain('rank-from-order');
    const note = report.health.problems.find((p) => p.code === 'profiled-before');
    expect(note).toMatchObject({ severity: 'note', ranks: [0] });
    const first = await diagnose(join(folder, 'node1_4711.1790000000000.pt.trace.json'));
    expect(first.step?.last).toBe(4);
    expect(first.health.problems.map((p) => p.code)).not.toContain('profiled-before');
  });
});

it('lists a rank once after two captures', async () => {
  await inFolder(async (folder) => {
    for (const step of [17, 117]) {
      await mkdir(join(folder, `traces/step_${step}`), { recursive: true });
      const path = join(folder, `traces/step_${step}/rank-0-coord-0-trace.json`);
      await writeFile(path, window(step, step));
    }
    const report = await diagnose(folder);
    expect(report.ranks.map((r) => r.rank)).toEqual([0]);
    expect(report.step?.last).toBe(119);
    const early = await diagnose(folder, { steps: { first: 17, last: 19 } });
    expect(early.step?.last).toBe(19);
  });
});
