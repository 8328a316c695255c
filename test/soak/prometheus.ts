// Prometheus itself (Debian's package) reads the metrics of `whyslow watch`, from the port and from the file.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { slowInput } from '../helpers/slow-input.js';

const program = fileURLToPath(new URL('../../bin/whyslow.js', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'whyslow-prometheus-'));
const [METRICS_PORT, PROMETHEUS_PORT] = [19_411, 19_412];
const started: ChildProcess[] = [];

function start(command: string, args: readonly string[]): void {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], cwd: folder });
  child.once('error', (error) => console.error(String(error)));
  started.push(child);
}

/** The value of one series, as Prometheus has stored it. */
async function asked(query: string): Promise<string | null> {
  const url = `http://127.0.0.1:${PROMETHEUS_PORT}/api/v1/query?query=${encodeURIComponent(query)}`;
  const answer = await fetch(url).then(
    async (a) => (await a.json()) as { data?: { result: { value: [number, string] }[] } },
    () => null,
  );
  return answer?.data?.result[0]?.value[1] ?? null;
}

try {
  const out = join(folder, 'run');
  await slowInput(out);
  // A rank that is still there, so that the watch goes on.
  const manifest = {
    rank: 0,
    run: 'r',
    host: 'elsewhere',
    pid: 1,
    anchors: [{ at: 'start', wall_ns: 1.8e18 }],
  };
  await mkdir(join(out, 'ranks'));
  await writeFile(join(out, 'ranks', 'rank_0.json'), JSON.stringify(manifest));
  await writeFile(
    join(folder, 'prometheus.yml'),
    `scrape_configs: [{job_name: whyslow, scrape_interval: 1s, static_configs: [{targets: ['127.0.0.1:${METRICS_PORT}']}]}]\n`,
  );
  start(process.execPath, [program, 'watch', out, '--metrics', `${METRICS_PORT}`]);
  start('prometheus', [
    '--config.file=prometheus.yml',
    '--storage.tsdb.path=data',
    `--web.listen-address=127.0.0.1:${PROMETHEUS_PORT}`,
    '--log.level=error',
  ]);
  let open: string | null = null;
  for (let i = 0; i < 60 && open !== '1'; i++) {
    await sleep(500);
    open = await asked('whyslow_incident_open{cause="loader"}');
  }
  const [up, step] = [await asked('up{job="whyslow"}'), await asked('whyslow_step_seconds')];
  console.log(`scraped: up ${up}, incident open ${open}, step ${step} s`);
  const file = join(folder, 'whyslow.prom');
  spawnSync(process.execPath, [program, 'watch', out, '--once', '--metrics', file]);
  const lint = spawnSync('promtool', ['check', 'metrics'], { input: await readFile(file), encoding: 'utf8' });
  console.log(`promtool check metrics: exit ${lint.status} ${lint.stdout}${lint.stderr}`.trim());
  if (up !== '1' || open !== '1' || !(Number(step) > 0.1) || lint.status !== 0) process.exitCode = 1;
} finally {
  for (const child of started) child.kill();
  await rm(folder, { recursive: true, force: true });
}
