import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { runByPython } from './driver.js';
import type { EngineResult, PythonEngineId } from './engine.js';

/** Stands for Python: a script that reads the job and prints messages. */
const answered = (engine: PythonEngineId, messages: readonly unknown[], end = 'exit 0') =>
  inFolder(async (folder) => {
    const python = join(folder, 'python');
    const lines = messages.map((m) => (typeof m === 'string' ? m : JSON.stringify(m)));
    writeFileSync(python, `#!/bin/sh\ncat >/dev/null\ncat <<'EOF'\n${lines.join('\n')}\nEOF\n${end}\n`, {
      mode: 0o755,
    });
    const said: unknown[] = [];
    const progress = {
      start: (...args: number[]) => void said.push(['start', ...args]),
      update: (...args: number[]) => void said.push(['update', ...args]),
      note: (text: string) => void said.push(text),
    };
    const job = { paths: ['/data/run'], out: '/facts', options: [], progress };
    const result = await runByPython(job, { engine, address: 'there:1', python }).catch((e: Error) =>
      e.message.replaceAll(folder, ''),
    );
    return { result: result as EngineResult, said };
  });

const sentence = async (engine: PythonEngineId, message: unknown, end?: string) =>
  (await answered(engine, [message], end)).result;

describe('the driver of engines with a Python API', () => {
  it('gives what came back and what was lost, and follows the bytes', async () => {
    const { result, said } = await answered('dask', [
      { type: 'note', text: 'n2: no Node.js' },
      { type: 'listed', files: [{ size: 30 }, { size: 12 }] },
      'something that a library prints',
      {
        type: 'done',
        size: 30,
        written: [{ path: '/facts/a.facts', from: '/data/a' }],
        ignored: ['/data/x'],
      },
      { type: 'failed', size: 12, path: '/data/b', why: 'its worker died 4 times' },
      { type: 'end' },
    ]);
    expect(result).toEqual({
      madeOf: new Map([['/facts/a.facts', '/data/a']]),
      lost: [{ path: '/data/b', why: 'its worker died 4 times' }],
      ignored: ['/data/x'],
    });
    expect(said).toEqual(['n2: no Node.js', ['start', 2, 42], ['update', 30, 1], ['update', 42, 2]]);
  });

  it.each([
    [
      'ray',
      { code: 'not-installed' },
      'Ray is not installed for /python: /python -m pip install ray, or activate the environment that has it',
    ],
    [
      'dask',
      { code: 'not-installed' },
      "Dask is not installed for /python: /python -m pip install 'dask[distributed]', or activate the environment that has it",
    ],
    [
      'ray',
      { code: 'no-cluster', address: 'this machine', why: 'nothing runs' },
      'there is no Ray cluster at this machine (nothing runs): start one with `ray start --head`, or pass --address or RAY_ADDRESS',
    ],
    [
      'dask',
      { code: 'no-cluster', address: null, why: '' },
      'no address of a Dask cluster is known: pass --address tcp://HOST:8786 or the path of its scheduler file, or set DASK_SCHEDULER_ADDRESS',
    ],
    [
      'dask',
      { code: 'no-node', why: 'it has no workers' },
      'no node of the Dask cluster can run whyslow: it has no workers',
    ],
    ['dask', { code: 'no-files' }, 'no node of the Dask cluster has files in /data/run'],
  ] as const)('says what is missing: %s, %o', async (engine, error, said) => {
    expect(await sentence(engine, { type: 'error', ...error }, 'exit 1')).toBe(said);
  });

  it('says why there are no facts at all', async () => {
    const failed = (path: string) => ({ type: 'failed', size: 1, path, why: 'its worker died 4 times' });
    const end = { type: 'end' };
    const all = await answered('dask', [failed('/data/a'), failed('/data/b'), end]);
    expect(all.result).toBe(
      'nothing could be read on the Dask cluster: /data/a (and 1 other file): its worker died 4 times',
    );
    const unknown = { type: 'done', size: 1, written: [], ignored: ['/data/notes.md'] };
    expect((await answered('ray', [unknown, end])).result).toBe(
      'no node of the Ray cluster has files that whyslow recognizes in /data/run',
    );
  });

  it('says what Python complained about last when it ends too early', async () => {
    const end = 'echo Traceback >&2; echo "OSError: gone" >&2; exit 1';
    expect(await sentence('dask', { type: 'listed', files: [] }, end)).toBe(
      "Dask's driver ended before its tasks were done: OSError: gone",
    );
  });

  it('says so where Python cannot be started', async () => {
    const progress = { start: () => {}, update: () => {} };
    const job = { paths: [], out: '/facts', options: [], progress };
    const options = { engine: 'ray', address: null, python: '/nowhere/python' } as const;
    await expect(runByPython(job, options)).rejects.toThrow(/^cannot start \/nowhere\/python: /);
  });
});
