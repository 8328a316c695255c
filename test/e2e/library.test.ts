import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type * as Library from '../../src/index.js';
import { root } from '../helpers/cli.js';

/** As its users get it: the bundle, by the name in package.json. */
const { Category, InputError, readEvents, readRun } = (await import(
  join(root, 'dist/index.js')
)) as typeof Library;

describe('the library', () => {
  it('reads a run in threads and hands over its columns', async () => {
    const run = await readRun(join(root, 'test/fixtures/zoo-ranks/balanced'), { jobs: 2 });
    expect(run.traces.map((t) => t.rank)).toEqual([0, 1, 2, 3]);
    const { trace } = run.traces[2]!;
    expect(trace.data.ts).toBeInstanceOf(Float64Array);
    expect(trace.steps).toHaveLength(10);
    const kernels = [...trace.links.work].filter((row) => trace.category(row) === Category.kernel);
    expect(kernels.length).toBe(440);
    expect(trace.links.launch.every((row) => row >= 0)).toBe(true);
  });

  it('goes back to the file for whole events', async () => {
    const run = await readRun(join(root, 'zoo/fixtures/data_io_w0/rank0.json.gz'));
    const [first] = run.traces;
    const { data, links, steps } = first!.trace;
    const rows = [steps[0]!.row, links.work[0]!, links.work.at(-1)!, data.rows - 1, 256, 255];
    const events = await readEvents(first!, data, rows);
    expect([...events.keys()].sort((a, b) => a - b)).toEqual([...new Set(rows)].sort((a, b) => a - b));
    for (const row of rows) {
      expect(events.get(row)!.name).toBe(first!.trace.name(row));
      expect(events.get(row)!.ph).toBe(data.kinds[data.kind[row]!]!.phase);
    }
    expect(events.get(links.work[0]!)!.args).toHaveProperty('context'); // which is no column
  });

  it('throws InputError when there is nothing to read', async () => {
    await expect(readRun('no/such/folder')).rejects.toThrow(InputError);
  });
});
