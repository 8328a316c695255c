import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SOAK } from '../helpers/cases.js';
import { root } from '../helpers/cli.js';
import { cpuTime } from '../helpers/cpu-time.js';
import { inFolder } from '../helpers/folder.js';
import { type Floor, tooMuch } from '../helpers/hostile/scaling.js';
import type { Shape } from '../helpers/hostile/shape.js';
import { SHAPES } from '../helpers/hostile/shapes.js';
import { peakMemory } from '../helpers/memory.js';

/** The built library, because that has threads. */
const { diagnose } = (await import(join(root, 'dist/index.js'))) as typeof import('../../src/index.js');
/** All of them in `npm run soak`. */
const CHOSEN = SOAK ? SHAPES : SHAPES.filter((_, i) => i % 3 === 0);
const FLOOR: Floor = { cpuMs: 150, peakMb: 40 };

/** In this process: `npm run soak` starts one for each, with about ten times as many of everything. */
const measure = (shape: Shape, n: number): Promise<Floor> =>
  inFolder(async (folder) => {
    await shape.write(folder, n);
    const [memory, cpu] = [peakMemory(), cpuTime()];
    const jobs = shape.options ? Number(shape.options[1]) : 1;
    await diagnose(folder, { jobs });
    return { cpuMs: cpuTime() - cpu, peakMb: memory.mb() };
  });

it.each(CHOSEN)('$name: four times as many cost about four times as much', async (shape) => {
  const after = await measure(shape, 4 * shape.few);
  // Where that is little even from the floor, the smaller input need not be measured.
  const before = tooMuch(FLOOR, after, 2, FLOOR) === null ? FLOOR : await measure(shape, shape.few);
  expect(tooMuch(before, after, 2, FLOOR)).toBeNull();
});
