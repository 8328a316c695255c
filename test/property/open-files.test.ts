import { expect, it, vi } from 'vitest';
import { describeSystemError } from '../../src/base/input-error.js';
import { readAll } from '../../src/ingest/pool.js';
import { runTask } from '../../src/ingest/task.js';

vi.mock('../../src/ingest/task.js', () => ({ runTask: vi.fn() }));

it('a file that could not be opened together with others is read again alone', async () => {
  const error = `cannot read b: ${describeSystemError({ code: 'EMFILE' })}`;
  const tried: string[] = [];
  vi.mocked(runTask).mockImplementation(async (path) => {
    tried.push(path);
    const isShort = path === 'b' && tried.filter((p) => p === 'b').length === 1;
    return { path, storedBytes: 1, members: [], problems: [], error: isShort ? error : null };
  });
  const files = ['a', 'b', 'c'].map((path) => ({ path, size: 1, explicit: false }));
  const done: number[] = [];
  const progress = { start() {}, update: (_: number, count: number) => void done.push(count) };
  const results = await readAll(files, 'summary', { jobs: 1, progress });
  expect(tried).toEqual(['a', 'b', 'c', 'b']);
  expect(results.map((r) => r.error)).toEqual([null, null, null]);
  expect(done.at(-1)).toBe(3);
});
