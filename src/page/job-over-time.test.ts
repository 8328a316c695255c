import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { jobLog } from '../../test/helpers/draw-job.js';
import { inFolder } from '../../test/helpers/folder.js';
import { diagnoseForPage } from '../library/page.js';

it('divides the wall time of a job from its start to its end', async () => {
  await inFolder(async (folder) => {
    const drawn = { startUpMs: 500, endMs: 200, phases: { checkpoint: { ms: 300, count: 3 } } };
    await writeFile(join(folder, 'cuda_events_rank_0.jsonl'), jobLog(drawn).join('\n'));
    const { page } = await diagnoseForPage(folder, null);
    const { phases, bounds, seconds } = page.jobOverTime!;
    expect(bounds[0]).toBe(0);
    expect(bounds.at(-1)).toBeCloseTo(2, 6);
    const sumOf = (name: string) => seconds.reduce((sum, slice) => sum + slice[phases.indexOf(name)]!, 0);
    expect(sumOf('start-up')).toBeCloseTo(0.5, 6);
    expect(sumOf('checkpoint')).toBeCloseTo(0.3, 6);
    expect(sumOf('end')).toBeCloseTo(0.2, 6);
    expect(sumOf('steps')).toBeCloseTo(1, 6);
    // Slices follow each other without a gap, and each is divided completely.
    seconds.forEach((slice, i) => {
      expect(slice.reduce((a, b) => a + b, 0)).toBeCloseTo(bounds[i + 1]! - bounds[i]!, 6);
    });
    // Saving is spread over the job.
    const saving = seconds.filter((slice) => slice[phases.indexOf('checkpoint')]! > 0);
    expect(saving.length).toBeGreaterThan(3);
  });
});
