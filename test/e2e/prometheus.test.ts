import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { inFolder, root, type Started, start, whyslow } from '../helpers/cli.js';
import { slowInput } from '../helpers/slow-input.js';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The value of one series, as a Prometheus server has stored it. Null: it has none. */
async function asked(port: number, query: string): Promise<string | null> {
  const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`;
  const answer = await fetch(url).then(
    async (a) => (await a.json()) as { data?: { result: { value: [number, string] }[] } },
    () => null,
  );
  return answer?.data?.result[0]?.value[1] ?? null;
}

/** A rank that is still there, so that the watch goes on. */
const MANIFEST = {
  rank: 0,
  run: 'r',
  host: 'elsewhere',
  pid: 1,
  anchors: [{ at: 'start', wall_ns: 1.8e18 }],
};

it('Prometheus itself scrapes `whyslow watch --metrics PORT`, and promtool accepts the file', async ({
  task,
  skip,
}) => {
  if (spawnSync('prometheus', ['--version']).error) {
    task.meta.notHere = 'prometheus';
    skip('prometheus is not installed');
  }
  await inFolder(async (folder) => {
    const out = join(folder, 'run');
    await slowInput(out);
    await mkdir(join(out, 'ranks'));
    await writeFile(join(out, 'ranks', 'rank_0.json'), JSON.stringify(MANIFEST));
    const [metrics, port] = [await freePort(), await freePort()];
    const config = `scrape_configs: [{job_name: whyslow, scrape_interval: 1s, static_configs: [{targets: ['127.0.0.1:${metrics}']}]}]\n`;
    await writeFile(join(folder, 'prometheus.yml'), config);
    const started: Started[] = [];
    try {
      started.push(
        start(process.execPath, [join(root, 'bin/whyslow.js'), 'watch', out, '--metrics', `${metrics}`]),
        start('prometheus', [
          `--config.file=${join(folder, 'prometheus.yml')}`,
          `--storage.tsdb.path=${join(folder, 'data')}`,
          `--web.listen-address=127.0.0.1:${port}`,
          '--log.level=error',
        ]),
      );
      let open: string | null = null;
      while (open !== '1' && started.every((s) => s.child.exitCode === null)) {
        await sleep(200);
        open = await asked(port, 'whyslow_incident_open{cause="loader"}');
      }
      expect([open, await asked(port, 'up{job="whyslow"}')]).toEqual(['1', '1']);
      expect(Number(await asked(port, 'whyslow_step_seconds'))).toBeCloseTo(0.14, 2);
    } finally {
      for (const { child } of started) child.kill('SIGKILL');
      await Promise.all(started.map((s) => s.ended));
    }
    const file = join(folder, 'whyslow.prom');
    expect((await whyslow(['watch', out, '--once', '--metrics', file])).code).toBe(0);
    const lint = spawnSync('promtool', ['check', 'metrics'], {
      input: await readFile(file),
      encoding: 'utf8',
    });
    expect([lint.status, lint.stderr]).toEqual([0, '']);
  });
});
