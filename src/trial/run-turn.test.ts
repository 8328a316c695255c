import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { unprotected } from './protect/protection.js';
import { failureIn, runTurn, type TurnSettings } from './run-turn.js';

const settings = (folder: string, script: string, given: Partial<TurnSettings> = {}): TurnSettings => ({
  command: ['sh', '-c', script],
  env: process.env,
  protection: unprotected(folder),
  folder: join(folder, 'turn'),
  fixes: [],
  steps: 5,
  warmup: 2,
  seconds: null,
  limit: 60,
  record: null,
  keepLog: join(folder, 'log'),
  abort: new AbortController().signal,
  ...given,
});

/** Sleeping for that long, which nobody else does. */
const sleeping = (seconds: string) =>
  execFileSync('sh', ['-c', `ps -eo args= | grep -c "^sleep ${seconds}$" || true`])
    .toString()
    .trim();

/** What a rank writes. */
const RESULT = JSON.stringify({
  rank: 0,
  world_size: 1,
  why: 'steps',
  step_ms: [1, 2, 3],
  losses: [1, 1, 1, 1, 1],
});
const WRITE = `echo '${RESULT}' > "$(dirname "$WHYSLOW_TRIAL")/results/rank_0.json"`;

describe('one turn', () => {
  it('is measured when a rank has written its steps, and leaves nothing behind', () =>
    inFolder(async (folder) => {
      const end = await runTurn(settings(folder, WRITE));
      expect(end).toMatchObject({ kind: 'measured', reason: null });
      expect(end.ranks[0]!.stepMs).toEqual([1, 2, 3]);
      expect(readdirSync(folder)).toEqual([]);
    }));

  it.each([
    ['a failure', 'echo "ValueError: no data" >&2; exit 1', 'crashed', 'ValueError: no data'],
    ['no step', 'true', 'no-steps', 'no training step was seen'],
    ['an exit code alone', 'exit 9', 'crashed', 'exit code 9'],
  ])('%s has a reason, and its output is kept', (_, script, kind, reason) =>
    inFolder(async (folder) => {
      const end = await runTurn(settings(folder, script));
      expect(end.kind).toBe(kind);
      expect(end.reason).toContain(reason);
      expect(existsSync(join(folder, 'turn'))).toBe(false);
      expect(readFileSync(join(folder, 'log'), 'utf8')).toBe(
        kind === 'crashed' && _ === 'a failure' ? 'ValueError: no data\n' : '',
      );
    }),
  );

  it('that cannot be started says so', () =>
    inFolder(async (folder) => {
      const end = await runTurn(settings(folder, '', { command: ['no-such-program-here'] }));
      expect(end).toMatchObject({ kind: 'crashed', reason: 'no-such-program-here: command not found' });
    }));

  it('that hangs is ended with its children, also those in sessions of their own', () =>
    inFolder(async (folder) => {
      const seconds = `${7_000_000 + process.pid}`;
      const script = `setsid sleep ${seconds} & sleep ${seconds} & trap "" TERM; sleep ${seconds}`;
      const end = await runTurn(settings(folder, script, { limit: 1 }));
      expect(end).toMatchObject({ kind: 'timed-out', reason: 'took longer than 1 s' });
      expect(sleeping(seconds)).toBe('0');
    }));

  it('ends when the user does not want to wait any longer', () =>
    inFolder(async (folder) => {
      const abort = AbortSignal.timeout(300);
      const end = await runTurn(settings(folder, 'sleep 600', { abort }));
      expect(end.kind).toBe('interrupted');
      expect(end.seconds).toBeLessThan(60);
    }));
});

it.each([
  ['Traceback (most recent call last):\n  File "a.py", line 1\nValueError: no data\n', 'ValueError: no data'],
  [
    '[rank1]: torch.OutOfMemoryError: CUDA out of memory.\n  raise ChildFailedError(\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\n',
    'torch.OutOfMemoryError: CUDA out of memory.',
  ],
  ['step 1\nSegmentation fault\n', 'Segmentation fault'],
  [
    'torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found\n\nSet TORCHDYNAMO_VERBOSE=1\n',
    'torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found',
  ],
  ['  10%|█\r  20%|██\rKeyError: 3', 'KeyError: 3'],
  ['', null],
])('the reason in %j', (text, reason) => expect(failureIn(text)).toBe(reason));
