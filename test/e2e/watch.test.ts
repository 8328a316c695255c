import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { whyslow } from '../helpers/cli.js';
import { inFolder } from '../helpers/folder.js';
import { slowInput } from '../helpers/slow-input.js';

it('whyslow watch --once prints since when a job is slower, and why', () =>
  inFolder(async (out) => {
    await slowInput(out);
    const ran = await whyslow(['watch', out, '--once'], { env: { COLUMNS: '100' } });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toMatch(/step 3,990.* · 14\d ms per step/);
    expect(ran.stdout).toMatch(/^job {2}[▁▂▃▄▅▆▇█]+ {2}14\d ms$/m);
    expect(ran.stdout).toMatch(/^! Since step 2,0\d\d \(\d\d:\d\d\) a step takes 37% longer/m);
    expect(ran.stdout).toContain('data_wait: 2.00 ms → 40.0 ms per step');
    const json = await whyslow(['watch', out, '--once', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      schema: 'whyslow/watch/1',
      step: 3990,
      false_alarm: 0.01,
      incidents: [{ kind: 'slower', cause: 'loader', state: 'open' }],
    });
    const diagnosed = await whyslow(['diagnose', out], { env: { COLUMNS: '100' } });
    expect(diagnosed.stdout).toMatch(/^What changed during the run\n! Since step 2,0\d\d /m);
    const report = await whyslow(['diagnose', out, '--json']);
    expect(JSON.parse(report.stdout).incidents).toMatchObject([{ cause: 'loader', state: 'open' }]);
  }));

it('whyslow watch in a pipe prints a line for each incident and ends with the job', () =>
  inFolder(async (out) => {
    await slowInput(out);
    await mkdir(join(out, 'ranks'));
    const manifest = { rank: 0, run: 'r', host: 'elsewhere', pid: 1, anchors: [{ at: 'end' }] };
    await writeFile(join(out, 'ranks', 'rank_0.json'), JSON.stringify(manifest));
    const ran = await whyslow(['watch', out]);
    expect(ran.code).toBe(0);
    expect(ran.stdout.trim().split('\n')).toHaveLength(2);
    expect(ran.stdout).toMatch(/^Since step 2,0\d\d .*waiting for input\. Look at what/m);
    expect(ran.stderr).toContain('the job has ended at step 3,990');
  }));

it('whyslow watch exits with 2 and what to pass where there is no job', () =>
  inFolder(async (out) => {
    const missing = await whyslow(['watch', join(out, 'nothing')]);
    expect(missing).toMatchObject({ code: 2, stdout: '' });
    expect(missing.stderr).toContain('does not exist');
    const empty = await whyslow(['watch', out, '--once']);
    expect(empty.code).toBe(2);
    expect(empty.stderr).toContain('is not the directory of a measured job');
  }));

it('whyslow run --watch reports an incident while the job runs, and calls the webhook and the command once', () =>
  inFolder(async (folder) => {
    const out = join(folder, 'run');
    const log = join(folder, 'log');
    await slowInput(log);
    const messages: { readonly text: string }[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        messages.push(JSON.parse(body));
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const told = join(folder, 'told');
    const metrics = join(folder, 'whyslow.prom');
    const words = ['run', '--watch', '--no-telemetry', '--no-diagnose', '--out', out];
    const flags = ['--notify', url, '--metrics', metrics, '--on-incident', `cat >> '${told}'`];
    // The job ends when the command has run: the incident was reported meanwhile.
    const job = `cp -r '${log}/cuda_event_profiler' '${out}'; while [ ! -s '${told}' ]; do sleep 0.1; done; exit 7`;
    const ran = await whyslow([...words, ...flags, '--', 'sh', '-c', job]);
    server.closeAllConnections();
    server.close();
    expect(ran.code).toBe(7);
    expect(ran.stderr).toMatch(/^whyslow: Since step 2,0\d\d .* waiting for input\./m);
    expect(messages).toHaveLength(1);
    expect(messages[0]!.text).toContain('waiting for input');
    expect(await readFile(told, 'utf8')).toMatch(/^\{"schema":"whyslow\/incident\/1".*\n$/);
    expect(await readFile(metrics, 'utf8')).toMatch(/whyslow_incident_open\{run="r",cause="loader"\} 1/);
  }));

it('whyslow watch exits with 2 for an address that is none', async () => {
  const ran = await whyslow(['watch', '.', '--notify', 'file:///etc/passwd']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('must be wandb, mlflow, or begin with http');
});
