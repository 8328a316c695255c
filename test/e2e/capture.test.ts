import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inFolder, root, start, until, whyslow } from '../helpers/cli.js';

/** A process of this machine that has ended. */
const GONE = 2 ** 22 + 1;

interface RankOptions {
  readonly pid?: number;
  readonly host?: string;
  readonly anchors?: readonly object[];
  readonly minutesOld?: number;
}

async function addRank(out: string, rank: number, options: RankOptions = {}): Promise<void> {
  const { pid = process.pid, host = hostname(), anchors = [{ at: 'start' }], minutesOld = 0 } = options;
  const path = join(out, `ranks/rank_${rank}.json`);
  await mkdir(join(out, 'ranks'), { recursive: true });
  await writeFile(path, JSON.stringify({ whyslow: 1, run: 'r', rank, host, pid, anchors }));
  const then = Date.now() / 1000 - minutesOld * 60;
  await utimes(path, then, then);
}

interface Request {
  readonly id: string;
  readonly steps: number;
  readonly ranks: unknown;
}

/** Answers one request as the ranks of a job do; returns what it was. */
async function answer(out: string, plan: object | null, done: readonly object[]): Promise<Request> {
  const folder = join(out, 'control');
  const requests = () =>
    existsSync(folder) ? readdirSync(folder).filter((f) => f.startsWith('request-')) : [];
  await until(() => requests().length > 0, 'a request');
  const request = JSON.parse(readFileSync(join(folder, requests()[0]!), 'utf8')) as Request;
  const put = async (name: string, content: object) => {
    await writeFile(join(folder, `.${name}`), JSON.stringify({ id: request.id, ...content }));
    await rename(join(folder, `.${name}`), join(folder, name));
  };
  if (plan) await put(`plan-${request.id}.json`, plan);
  for (const one of done as { rank: number }[]) {
    await sleep(50);
    await put(`done-${request.id}-rank-${one.rank}.json`, one);
  }
  return request;
}

const withdrawn = (out: string) => readdirSync(join(out, 'control')).filter((f) => /request/.test(f));

// Together: most wait, each in its own folder.
describe.concurrent('whyslow capture', () => {
  it('asks, waits for every rank of the plan and prints the traces', () =>
    inFolder(async (cwd) => {
      await addRank(join(cwd, 'o'), 0);
      await addRank(join(cwd, 'o'), 5);
      const asked = whyslow(['capture', 'o', '--steps', '2', '--ranks', '0,5'], { cwd });
      const trace = (rank: number) => `traces/step_7/rank-${rank}-coord-${rank}-trace.json.gz`;
      const request = await answer(join(cwd, 'o'), { first_step: 7, steps: 2, ranks: [0, 5] }, [
        { rank: 0, status: 'done', path: join(cwd, 'o', trace(0)), first_step: 7, last_step: 8, message: '' },
        { rank: 5, status: 'done', path: trace(5), first_step: 7, last_step: 8, message: '' },
      ]);
      expect(request).toEqual({
        whyslow: 1,
        id: expect.stringMatching(/^[0-9a-f]{8}$/),
        steps: 2,
        ranks: [0, 5],
        asked_ns: expect.any(Number),
        wait_s: 600,
      });
      expect(await asked).toEqual({ code: 0, stdout: `o/${trace(0)}\no/${trace(5)}\n`, stderr: '' });
      expect(readdirSync(join(cwd, 'o/control'))).toEqual([]);
    }));

  it('finds a trace although the job sees it under another path', () =>
    inFolder(async (out) => {
      await addRank(out, 0);
      await mkdir(join(out, 'traces/step_7'), { recursive: true });
      await writeFile(join(out, 'traces/step_7/t.json.gz'), '');
      const asked = whyslow(['capture', out, '--json'], { cwd: root });
      await answer(out, { first_step: 7, steps: 3, ranks: [0] }, [
        { rank: 0, status: 'cut', path: '/in-the-container/traces/step_7/t.json.gz', message: 'memory' },
      ]);
      const { code, stdout, stderr } = await asked;
      expect(JSON.parse(stdout)).toMatchObject({
        schema: 'whyslow/capture/1',
        first_step: 7,
        ranks: [{ rank: 0, status: 'cut', path: join(out, 'traces/step_7/t.json.gz'), message: 'memory' }],
        error: null,
      });
      expect(stderr).toBe('whyslow: rank 0: the window was cut short: memory\n');
      expect(code).toBe(0);
    }));

  it('says which ranks have no trace; one is enough', () =>
    inFolder(async (cwd) => {
      for (const rank of [0, 1, 2]) await addRank(join(cwd, 'o'), rank);
      const asked = whyslow(['capture', 'o', '--ranks', 'all', '--timeout', '5'], { cwd });
      const request = await answer(join(cwd, 'o'), { first_step: 7, steps: 3, ranks: 'all' }, [
        { rank: 0, status: 'missed', path: null, message: 'at step 9' },
        { rank: 2, status: 'done', path: 'traces/t.json.gz' },
      ]);
      expect(request.ranks).toBe('all');
      const { code, stdout, stderr } = await asked;
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'o/traces/t.json.gz\n' });
      expect(stderr).toContain('rank 0: not recorded: at step 9');
      expect(stderr).toContain('no answer within 5 s (--timeout): rank 1 did not answer');
    }));

  it('fails when there is no trace at all', () =>
    inFolder(async (out) => {
      await addRank(out, 0);
      const asked = whyslow(['capture', out], { cwd: root });
      await answer(out, { first_step: 7, steps: 3, ranks: [0] }, [
        { rank: 0, status: 'failed', path: null, message: 'disk full' },
      ]);
      expect(await asked).toMatchObject({
        code: 2,
        stdout: '',
        stderr: 'whyslow: rank 0: no trace: disk full\n',
      });
    }));

  it('passes on a refusal', () =>
    inFolder(async (out) => {
      await addRank(out, 0);
      const asked = whyslow(['capture', out], { cwd: root });
      const request = await answer(out, null, [
        { rank: 0, status: 'failed', path: null, message: 'unreadable' },
      ]);
      expect(request.ranks).toBe(null);
      expect(await asked).toMatchObject({ code: 2, stderr: 'whyslow: rank 0: no trace: unreadable\n' });
    }));

  it('withdraws the request when nobody answers', () =>
    inFolder(async (out) => {
      await addRank(out, 0, { host: 'another-machine', minutesOld: 60 });
      const { code, stderr } = await whyslow(['capture', out, '--timeout', '1']);
      expect(code).toBe(2);
      expect(stderr).toContain('no answer within 1 s (--timeout): the job did not schedule the trace');
      expect(withdrawn(out)).toEqual([]);
    }));

  it('withdraws the request on Ctrl-C', () =>
    inFolder(async (out) => {
      await addRank(out, 0);
      const asked = start(process.execPath, [join(root, 'bin/whyslow.js'), 'capture', out]);
      await until(() => existsSync(join(out, 'control')) && withdrawn(out).length > 0, 'a request');
      asked.child.kill('SIGINT');
      expect(await asked.ended).toMatchObject({ code: 130, stderr: 'whyslow: request withdrawn\n' });
      expect(withdrawn(out)).toEqual([]);
    }));

  it('stops waiting when the job ends', () =>
    inFolder(async (out) => {
      await addRank(out, 0);
      const asked = whyslow(['capture', out]);
      await until(() => existsSync(join(out, 'control')) && withdrawn(out).length > 0, 'a request');
      await addRank(out, 0, { anchors: [{ at: 'start' }, { at: 'end' }] });
      const { code, stderr } = await asked;
      expect(code).toBe(2);
      expect(stderr).toContain('the job has ended: the job did not schedule the trace');
    }));

  it.each<[string, (out: string) => Promise<void>, string]>([
    ['is not there', async () => {}, 'does not exist'],
    [
      'is of something else',
      async (out) => void (await mkdir(out)),
      'is not the directory of a measured job',
    ],
    [
      'is of a job that was killed',
      (out) => addRank(out, 0, { pid: GONE, minutesOld: 2 }),
      'has ended; to diagnose it',
    ],
    [
      'is of a job that has ended',
      (out) => addRank(out, 0, { anchors: [{ at: 'end' }] }),
      'has ended; to diagnose it',
    ],
  ])('refuses a directory that %s', (_, make, reason) =>
    inFolder(async (folder) => {
      const out = join(folder, 'o');
      await make(out);
      const { code, stdout, stderr } = await whyslow(['capture', out]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(reason);
      expect(existsSync(join(out, 'control'))).toBe(false);
    }),
  );

  it('takes a rank that wrote a moment ago for alive, though its process id may be a container’s', () =>
    inFolder(async (out) => {
      await addRank(out, 0, { pid: GONE });
      const { stderr } = await whyslow(['capture', out, '--timeout', '1']);
      expect(stderr).toContain('no answer within 1 s');
    }));
});
