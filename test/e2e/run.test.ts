import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { quotedCommand } from '../../src/base/printable.js';
import {
  inFolder,
  program,
  type RunOptions,
  root,
  start,
  startOnTerminal,
  until,
  whyslow,
} from '../helpers/cli.js';

/** Keep the settings of the person who runs the tests out. */
const env = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) => /^(?:WHYSLOW|SLURM)_/.test(name))
    .map((name) => [name, '']),
);
const run = (args: readonly string[], options: RunOptions = {}) =>
  whyslow(['run', ...args], { ...options, env: { ...env, ...options.env } });
/** Removed again, since nothing is captured into it. */
const NOWHERE = join(tmpdir(), `whyslow-nothing-${process.pid}`);
const inShell = (text: string, ...options: string[]) => [...options, '--', 'sh', '-c', text];

describe('whyslow run passes through', () => {
  it('the exit code and both outputs, and adds nothing to the standard output', () =>
    inFolder(async (cwd) => {
      const ran = await run(inShell('echo out; echo err >&2; exit 3'), { cwd });
      expect(ran.code).toBe(3);
      expect(ran.stdout).toBe('out\n');
      expect(ran.stderr).toMatch(/^whyslow: measuring into whyslow-runs\/\d{8}-\d{6}-sh$/m);
      expect(ran.stderr).toMatch(/^err$/m);
    }));

  it('the standard input', async () => {
    const ran = await run(inShell('cat', '--out', NOWHERE), { stdin: Buffer.from('hello') });
    expect(ran.stdout).toBe('hello');
    expect(ran.code).toBe(0);
  });

  it.each([
    ['a signal', ['sh', '-c', 'kill -9 $$'], 137, 'ended by SIGKILL'],
    [
      'a command that is not there',
      ['no-such-command-here', 'x'],
      127,
      'no-such-command-here: command not found',
    ],
    ['a file that is no program', [join(root, 'package.json')], 126, 'permission denied'],
    ['a script without its interpreter', ['./broken'], 127, 'interpreter was not found'],
  ])('%s', (_, command, code, reason) =>
    inFolder(async (cwd) => {
      await writeFile(join(cwd, 'broken'), '#!/no/such/interpreter\n', { mode: 0o755 });
      const ran = await run(['--', ...command], { cwd });
      expect(ran.code).toBe(code);
      expect(ran.stderr).toContain(reason);
      expect(ran.stdout).toBe('');
      expect(readdirSync(join(cwd, 'whyslow-runs'))).toEqual([]);
    }),
  );

  it.each([[['--']], [[]]])('the words of the command unchanged, after %j', (dashes) =>
    inFolder(async (cwd) => {
      const show = 'console.log(JSON.stringify(process.argv.slice(1)))';
      const ran = await run(
        ['--out', 'o', ...dashes, process.execPath, '-e', show, '--', '--out', 'x', '--', '-h'],
        { cwd },
      );
      expect(JSON.parse(ran.stdout)).toEqual(['--out', 'x', '--', '-h']);
    }),
  );

  it('the environment, plus our settings', () =>
    inFolder(async (cwd) => {
      const show = 'console.log(JSON.stringify(process.env))';
      const options = [
        '--out',
        'o',
        '--run-id',
        'r',
        '--trace',
        '--trace-ranks',
        '0,2-3',
        '--max-overhead',
        '1%',
      ];
      const given = { WHYSLOW_START_STEP: '4', PYTHONPATH: '/mine' };
      const ran = await run([...options, '--', process.execPath, '-e', show], { cwd, env: given });
      const seen = JSON.parse(ran.stdout) as Record<string, string>;
      expect(seen).toMatchObject({
        WHYSLOW_OUT: join(cwd, 'o'),
        WHYSLOW_RUN: 'r',
        WHYSLOW_START_STEP: '4',
        WHYSLOW_TRACE_ENABLED: '1',
        WHYSLOW_TRACE_RANKS: '0,2,3',
        WHYSLOW_MAX_OVERHEAD: '0.01',
      });
      const [startUp, theirs] = seen.PYTHONPATH!.split(delimiter);
      expect(existsSync(join(startUp!, 'sitecustomize.py'))).toBe(true);
      expect(existsSync(join(seen.WHYSLOW_PYTHON!, 'whyslow_capture/__init__.py'))).toBe(true);
      expect(theirs).toBe('/mine');
      // Of our own process, not of the job.
      expect(seen.UV_THREADPOOL_SIZE).toBe(process.env.UV_THREADPOOL_SIZE);
    }));

  it('blocking outputs, left blocking', async () => {
    // A pipe that Node has made non-blocking would make a print in the job fail.
    const look = 'sleep 0.3; for fd in 0 1 2; do grep flags /proc/self/fdinfo/$fd; done';
    const ran = await run(inShell(look, '--out', NOWHERE));
    const flags = [...ran.stdout.matchAll(/flags:\s*(\d+)/g)].map((m) => Number.parseInt(m[1]!, 8));
    expect(flags).toHaveLength(3);
    const NON_BLOCKING = 0o4000;
    expect(flags.map((f) => f & NON_BLOCKING)).toEqual([0, 0, 0]);
  });
});

describe('whyslow run checks before the command starts', () => {
  it.each([
    ['the output folder', ['--out', join(root, 'package.json/out')], /cannot write to .*package\.json/],
    ['the folder of the report', ['--report', join(root, 'package.json/r.json')], /cannot write .*r\.json/],
  ])('%s', async (_, options, reason) => {
    const ran = await run([...options, '--', 'sh', '-c', 'echo started']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toMatch(reason);
  });
});

describe('whyslow run and signals', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1'] as const)(
    '%s to us alone goes to the command, which ends as it likes',
    async (signal) => {
      const text = `trap 'echo got; exit 7' ${signal.slice(3)}; echo ready; while :; do sleep 0.05; done`;
      const job = start(process.execPath, [program(), 'run', ...inShell(text, '--out', NOWHERE)], {
        env,
      });
      await until(() => job.said.stdout.includes('ready'), 'ready');
      job.child.kill(signal);
      expect(await job.ended).toMatchObject({ code: 7, stdout: 'ready\ngot\n' });
    },
  );

  it('Ctrl-C on a terminal reaches the command once', () =>
    inFolder(async (cwd) => {
      // If we passed the signal on, the job would get it twice, and the second would interrupt its cleanup.
      await writeFile(
        join(cwd, 'job.sh'),
        "n=0; trap 'n=$((n+1))' INT; echo ready; while [ $n = 0 ]; do sleep 0.05; done; i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; echo count=$n; exit 5",
      );
      const job = startOnTerminal(['run', '--out', 'o', '--', 'sh', 'job.sh'], { cwd, env });
      await until(() => job.said.stdout.includes('ready'), 'ready');
      job.child.stdin.write('\x03');
      const { stdout, code } = await job.ended;
      expect(stdout).toContain('count=1');
      expect(code).toBe(5);
    }));

  it.each([
    ['nohup ', 'alive'],
    ['', 'code=129'],
  ])('a hangup after "%s": %s', (prefix, expected) =>
    inFolder(async (cwd) => {
      const job = "sh -c 'kill -HUP $$; echo alive'";
      const line = `${prefix}${quotedCommand([process.execPath, program()])} run --out o -- ${job}; echo code=$?`;
      const { stdout } = await start('bash', ['-c', line], { cwd, env, stdin: Buffer.of() }).ended;
      expect(stdout).toContain(expected);
    }),
  );
});

describe('whyslow run when nothing was captured', () => {
  it('says what the reason may be and what always works', () =>
    inFolder(async (cwd) => {
      const { stderr, code } = await run(['--out', 'o', '--', 'true'], { cwd });
      expect(code).toBe(0);
      expect(stderr).toContain('no Python process imported torch');
      expect(stderr).toContain('-I, -E or -S');
      expect(stderr).toContain('with whyslow_capture.capture("o") as cap:');
      expect(existsSync(join(cwd, 'o'))).toBe(false);
    }));

  it('leaves alone a directory it did not make, and another run’s files', () =>
    inFolder(async (cwd) => {
      await mkdir(join(cwd, 'o'));
      await writeFile(join(cwd, 'o/run.json'), '{"run":"old"}');
      await mkdir(join(cwd, 'empty'));
      const { stderr } = await run(['--out', 'o', '--run-id', 'new', '--', 'true'], { cwd });
      expect(stderr).toContain('o holds another run (old)');
      await run(['--out', 'empty', '--', 'true'], { cwd });
      expect(readdirSync(cwd).sort()).toEqual(['empty', 'o']);
      expect(readFileSync(join(cwd, 'o/run.json'), 'utf8')).toBe('{"run":"old"}');
    }));

  it('whyslow run is silent on nodes other than the first when nothing was captured', () =>
    inFolder(async (cwd) => {
      const { stderr } = await run(['--out', 'o', '--', 'true'], { cwd, env: { SLURM_PROCID: '1' } });
      expect(stderr).toBe('whyslow: measuring into o\n');
    }));
});

describe('whyslow run with nvidia-smi', () => {
  /** An nvidia-smi that refuses some columns, as old drivers do, and writes its process id to a file. */
  const FAKE = `#!/bin/sh
echo "$@" >> "$FAKE_LOG"
[ "$3" = pucvmet ] && { echo 'invalid option' >&2; exit 2; }
echo $$ > "$FAKE_LOG.pid"
echo '#Date       Time        gpu    pwr'
while :; do echo ' 20261115   08:00:00      0    135'; sleep 0.05; done
`;
  async function withFake<T>(use: (cwd: string, env: Record<string, string>) => Promise<T>): Promise<T> {
    return inFolder(async (cwd) => {
      await mkdir(join(cwd, 'bin'));
      await writeFile(join(cwd, 'bin/nvidia-smi'), FAKE, { mode: 0o755 });
      return use(cwd, {
        ...env,
        PATH: `${join(cwd, 'bin')}${delimiter}${process.env.PATH}`,
        FAKE_LOG: join(cwd, 'log'),
      });
    });
  }
  const isRunning = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const pidIn = (cwd: string) => Number(readFileSync(join(cwd, 'log.pid'), 'utf8'));
  const dmon = `o/telemetry/dmon-${hostname()}.txt`;

  it('keeps its output while the run lasts, then stops it', () =>
    withFake(async (cwd, env) => {
      const untilSaid = `until grep -qs '^ 20261115' ${dmon}; do sleep 0.02; done; exit 4`;
      const ran = await run(inShell(untilSaid, '--out', 'o'), { cwd, env });
      expect(ran.code).toBe(4);
      expect(readFileSync(join(cwd, dmon), 'utf8')).toMatch(/^#Date.*\n 20261115/);
      expect(readFileSync(join(cwd, 'log'), 'utf8')).toBe(
        'dmon -s pucvmet -d 1 -o DT\ndmon -s pucvm -d 1 -o DT\n',
      );
      expect(isRunning(pidIn(cwd))).toBe(false);
    }));

  it('does not leave it running when whyslow is killed', () =>
    withFake(async (cwd, env) => {
      const train = 'until [ -e enough ]; do sleep 0.05; done; echo trained';
      const job = start(process.execPath, [program(), 'run', ...inShell(train, '--out', 'o')], { cwd, env });
      await until(() => existsSync(join(cwd, dmon)), 'telemetry');
      job.child.kill('SIGKILL');
      await until(() => !isRunning(pidIn(cwd)), 'its end');
      await writeFile(join(cwd, 'enough'), '');
      expect((await job.ended).stdout).toBe('trained\n');
    }));

  it('does not keep its error messages', () =>
    withFake(async (cwd, env) => {
      const complaint = '#!/bin/sh\necho NVIDIA-SMI has failed; exit 9\n';
      await writeFile(join(cwd, 'bin/nvidia-smi'), complaint, { mode: 0o755 });
      await run(['--out', 'o', '--', 'sleep', '0.3'], { cwd, env });
      expect(existsSync(join(cwd, 'o'))).toBe(false);
    }));

  it.each([
    ['--no-telemetry', {}],
    ['--every=10', { SLURM_LOCALID: '1' }],
  ])('does not start it with %s and %j', (option, more) =>
    withFake(async (cwd, env) => {
      await run([option, '--out', 'o', '--', 'sleep', '0.3'], { cwd, env: { ...env, ...more } });
      expect(existsSync(join(cwd, 'log'))).toBe(false);
    }),
  );
});
