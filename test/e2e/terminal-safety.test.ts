import { existsSync, readdirSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SOAK } from '../helpers/cases.js';
import { inFolder, type Ran, startOnTerminal, until, whyslow } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/members.js';

/** Sets the title, colors, reorders, clears the screen (as one C1 character), forges a line of ours. */
const EVIL = '\x1b]0;title\x07\x1b[31mEVIL\u202e\u009b2J\u2028\nwhyslow: forged\r\x7f';

/** Everything but printable text and line breaks. */
const ACTIVE = /[\0-\t\v-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

function mustBeHarmless({ stdout, stderr }: Pick<Ran, 'stdout' | 'stderr'>): void {
  for (const text of [stdout, stderr]) {
    expect(text).not.toMatch(ACTIVE);
    expect(text).not.toMatch(/^whyslow: forged/m);
  }
}

const event = (cat: string, name: string, ts: number, dur: number, gpu: boolean, args: object) => ({
  ph: 'X',
  ...{ cat, name, ts, dur },
  pid: gpu ? 0 : 100,
  tid: gpu ? 7 : 1,
  args: gpu ? { device: 0, stream: 7, ...args } : args,
});

/** A trace in which every name is hostile. */
function evilTrace(rank: number): string {
  const events = Array.from({ length: 40 }, (_, i) => [
    event('cpu_op', `aten::${EVIL}${i % 3}`, 100 * i, 90, false, {}),
    event('cuda_runtime', 'cudaLaunchKernel', 100 * i + 5, 5, false, { correlation: i + 1 }),
    event('kernel', `kernel${EVIL}${i % 5}`, 100 * i + 20, 60, true, { correlation: i + 1 }),
    event('kernel', 'ncclDevKernel_AllReduce', 100 * i + 81, 10, true, {
      correlation: i + 1000,
      'Collective name': EVIL,
      'Process Group Name': EVIL,
      'Process Group Description': EVIL,
      'Process Group Ranks': '[0, 1]',
      dtype: EVIL,
    }),
    event(`cat${EVIL}`, EVIL, 100 * i, 1, false, {}),
  ]).flat();
  const steps = [0, 1, 2, 3].map((s) =>
    event('user_annotation', `ProfilerStep#${s}`, 1000 * s, 999, false, {}),
  );
  return JSON.stringify({
    schemaVersion: 1,
    trace_id: EVIL,
    deviceProperties: [{ id: 0, name: `GPU ${EVIL}` }],
    distributedInfo: { backend: EVIL, rank, world_size: 2 },
    traceEvents: [...steps, ...events],
  });
}

const log = (run: string, rank: number) =>
  [
    { whyslow: 1, run, rank, world_size: 2, framework: EVIL, host: EVIL },
    ...Array.from({ length: 30 }, (_, step) =>
      ['iteration', `phase ${EVIL}`, 'data_loading'].map((name) => ({
        ...{ name, step, rank, run },
        ...{ duration_ms: 5, start_ms: 10 * step, clock: 'gpu' },
      })),
    ).flat(),
  ]
    .map((line) => JSON.stringify(line))
    .join('\n');

const manifest = (rank: number) =>
  JSON.stringify({
    ...{ whyslow: 1, run: `run ${EVIL}`, rank, host: EVIL, pid: 1, world_size: 2, anchors: [] },
    ...{
      gpu: { name: EVIL, uuid: EVIL },
      mesh: [{ name: EVIL, size: 2 }],
      torch: EVIL,
      settings: { [EVIL]: EVIL },
    },
  });

/** A file name cannot contain a slash. */
const name = EVIL.replaceAll('/', '');
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let files: Record<'traces' | 'logs' | 'all' | 'text' | 'empty', string>;

beforeAll(async () => {
  folder = await temporaryFolder();
  const put = async (path: string, content: string) => {
    await mkdir(join(folder.path, path, '..'), { recursive: true });
    await writeFile(join(folder.path, path), content);
    return join(folder.path, path);
  };
  for (const rank of [0, 1]) {
    await put(`all/traces/${name}rank${rank}.json`, evilTrace(rank));
    await put(`traces/${name}rank${rank}.json`, evilTrace(rank));
    for (const run of ['a', 'b'])
      await put(`logs/${name}${run}_rank_${rank}.jsonl`, log(`${run}${EVIL}`, rank));
    await put(`all/ranks/rank_${rank}.json`, manifest(rank));
  }
  const dmon = '#Date Time gpu pwr\n#YYYYMMDD HH:MM:SS Idx W\n 20261115 08:00:00 0 135\n';
  await put(`all/telemetry/dmon-${name}.txt`, dmon);
  await put(`all/${name}.txt`, `${EVIL} is no trace`);
  files = {
    traces: join(folder.path, 'traces'),
    logs: join(folder.path, 'logs'),
    all: join(folder.path, 'all'),
    text: await put(`${name}.json`, `${EVIL} is no trace`),
    empty: await put(`empty/${name}`, ''),
  };
});
afterAll(() => folder.remove());

describe.each(['diagnose', 'inspect'])('%s', (command) => {
  // The traces are in `all` too.
  const keys = (['traces', 'logs', 'all', 'text', 'empty'] as const).slice(SOAK ? 0 : 1);
  it.each(keys)('shows %s harmlessly', async (key) => {
    const path = files[key];
    const options = command === 'diagnose' ? ['--all'] : [];
    const ran = await whyslow([command, path, ...options]);
    mustBeHarmless(ran);
    expect(ran.stderr).not.toContain('internal error');
    const json = await whyslow([command, path, '--json']);
    mustBeHarmless(json);
    expect(json.code).toBe(ran.code);
    // It was shown at all.
    expect(ran.stdout + ran.stderr + json.stdout).toMatch(/\\(?:x1b|u001b)\[31mEVIL/);
    if (json.stdout !== '') JSON.parse(json.stdout);
  });

  it.each([
    ['a file that is not there', [join('/nowhere', EVIL)]],
    ['a wrong number', ['.', '--jobs', EVIL]],
    ['an unknown option', ['.', `--${EVIL}`]],
    ['a pattern', [`${EVIL}*.json`]],
  ])('refuses %s harmlessly', async (_, args) => {
    const ran = await whyslow([command, ...args]);
    expect(ran.code).toBe(2);
    mustBeHarmless(ran);
    expect(ran.stderr).toContain('\\x1b[31mEVIL');
  });
});

it('keeps the colors of the renderer on a terminal, and no others', async () => {
  const { stdout } = await startOnTerminal(['diagnose', files.all, '--all'], {
    env: { FORCE_COLOR: '1', NO_COLOR: '' },
  }).ended;
  expect(stdout).toMatch(/\x1b\[1m[^\n]+\x1b\[22m/);
  expect(stdout).not.toContain('\x1b[31mEVIL');
  // What is left without colors, cleared lines and the line ends of a terminal.
  mustBeHarmless({ stdout: stdout.replace(/\x1b\[\d{1,2}m|\r\x1b\[2K|\r(?=\n)/g, ''), stderr: '' });
});

it.each([[['rules', EVIL]], [[EVIL]], [['rules', '--json', EVIL]]])('an argument: %#', async (args) => {
  const ran = await whyslow(args);
  expect(ran.code).toBe(2);
  mustBeHarmless(ran);
});

describe('run', () => {
  const run = async (args: readonly string[], cwd: string) =>
    whyslow(['run', '--no-telemetry', ...args], { cwd, env: { WHYSLOW_OUT: '', SLURM_JOB_ID: '' } });

  it.each([
    ['a folder', ['--out', name, '--', 'true']],
    ['a command', ['--out', 'o', '--', name]],
    ['a run id', ['--run-id', EVIL, '--', 'true']],
    ['a wrong option', ['--every', EVIL, '--', 'true']],
    ['the folder of another run', ['--out', 'other', '--', 'true']],
  ])('names %s harmlessly', (_, args) =>
    inFolder(async (cwd) => {
      await mkdir(join(cwd, 'other'));
      await writeFile(join(cwd, 'other/run.json'), JSON.stringify({ run: EVIL }));
      mustBeHarmless(await run(args, cwd));
    }),
  );

  it('leaves the bytes of the job alone', () =>
    inFolder(async (cwd) => {
      const job = `process.stdout.write(${JSON.stringify(EVIL)});process.stderr.write(${JSON.stringify(EVIL)})`;
      const ran = await run(['--out', 'o', '--', process.execPath, '-e', job], cwd);
      expect(ran.stdout).toBe(EVIL);
      expect(ran.stderr).toContain(EVIL);
    }));
});

describe('capture', () => {
  it.each([[[]], [['--json']]])('shows the answers of a job harmlessly, with %j', (options) =>
    inFolder(async (cwd) => {
      const out = join(cwd, 'o');
      await mkdir(join(out, 'ranks'), { recursive: true });
      for (const rank of [0, 1]) {
        const status = {
          ...{ whyslow: 1, run: EVIL, rank, host: hostname() },
          pid: process.pid,
          anchors: [],
        };
        await writeFile(join(out, `ranks/rank_${rank}.json`), JSON.stringify(status));
      }
      const asked = whyslow(['capture', 'o', '--ranks', '0,1', ...options], { cwd });
      const control = join(out, 'control');
      const request = () => existsSync(control) && readdirSync(control).find((f) => f.startsWith('request-'));
      await until(() => Boolean(request()), 'a request');
      const id = /request-(.*)\.json/.exec(request() as string)![1]!;
      const put = async (file: string, content: object) => {
        await writeFile(join(control, `.${file}`), JSON.stringify({ id, ...content }));
        await rename(join(control, `.${file}`), join(control, file));
      };
      await put(`plan-${id}.json`, { first_step: 7, steps: 2, ranks: [0, 1] });
      await put(`done-${id}-rank-0.json`, { rank: 0, status: 'done', path: `traces/${EVIL}`, message: EVIL });
      await put(`done-${id}-rank-1.json`, { rank: 1, status: 'failed', path: null, message: EVIL });
      const ran = await asked;
      expect(ran.code).toBe(0);
      mustBeHarmless(ran);
      expect(ran.stdout).toContain('EVIL');
      expect(ran.stderr).toContain('\\x1b[31mEVIL');
      if (options.length > 0) JSON.parse(ran.stdout);
    }),
  );

  it('names a folder that is not there harmlessly', async () => {
    const ran = await whyslow(['capture', EVIL]);
    expect(ran.code).toBe(2);
    mustBeHarmless(ran);
  });
});
