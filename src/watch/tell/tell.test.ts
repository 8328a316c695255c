import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../../test/helpers/folder.js';
import { watchSimulated } from '../../../test/helpers/watched-job.js';
import { tellJob } from '../../launch/tell-job.js';
import { serveMetrics } from '../../server/serve-metrics.js';
import type { WatchedRun } from '../watched-run.js';
import { metricsFile } from './metrics-file.js';
import { metricsText } from './metrics-text.js';
import { Outbox } from './outbox.js';
import { command, messageFor, tracker, webhook } from './receivers.js';

const [INCIDENT] = watchSimulated({ steps: 4000, of: (step) => (step < 2000 ? {} : { data: 40 }) }) as [
  ReturnType<typeof watchSimulated>[number],
];
const numbered = (n: number) => ({ ...INCIDENT, id: `slower-${n}` });

const RUN: WatchedRun = {
  out: 'runs/a',
  runId: 'odd "name"\n',
  isThere: true,
  writeProblem: null,
  step: 3990,
  time: 1.8e12,
  usualMs: 100,
  falseAlarm: 0.01,
  job: [{ first: 0, last: 10, steps: 10, ms: 1400, outsideMs: 0 }],
  ranks: [{ rank: 0, points: [{ first: 0, last: 10, steps: 10, ms: 1200, outsideMs: 0 }] }],
  incidents: [INCIDENT],
};

describe('metrics for Prometheus', () => {
  it('name the run, its pace and what is open', () => {
    const text = metricsText(RUN);
    expect(text).toContain(
      '# TYPE whyslow_step_seconds gauge\nwhyslow_step_seconds{run="odd \\"name\\" "} 0.14\n',
    );
    expect(text).toContain('whyslow_incident_open{run="odd \\"name\\" ",cause="loader"} 1\n');
    expect(text).toContain('whyslow_rank_own_seconds{run="odd \\"name\\" ",rank="0"} 0.12\n');
    expect(text).toMatch(/^whyslow_lost_ranks\{.*\} 0\.2\d+$/m);
    // Every line is a comment or a sample.
    for (const line of text.trimEnd().split('\n'))
      expect(line).toMatch(/^(?:# (?:HELP|TYPE) .+|[a-z_]+\{[^\n]*\} [\d.e+-]+)$/);
  });

  it('leave out what is not known yet', () => {
    const text = metricsText({ ...RUN, step: null, time: null, usualMs: null, job: [], incidents: [] });
    expect(text).not.toMatch(/whyslow_(?:step|usual|last)/);
  });

  it('in a file are whole at any time, and a folder that is gone fails nothing', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'sub', 'whyslow.prom');
      const metrics = metricsFile(path);
      metrics.update('a 1\n');
      await metrics.close();
      await mkdir(join(folder, 'sub'));
      for (let i = 0; i < 50; i++) metrics.update(`a ${i}\n`);
      await metrics.close();
      expect(await readFile(path, 'utf8')).toBe('a 49\n');
      await rm(join(folder, 'sub'), { recursive: true });
      metrics.update('a 50\n');
      await metrics.close();
    }));

  it('on a port answer GET /metrics of this machine by its own name, and nothing else', async () => {
    const port = await freePort();
    const metrics = await serveMetrics(port);
    metrics.update('a 1\n');
    const address = `http://127.0.0.1:${port}/metrics`;
    expect(await (await fetch(address)).text()).toBe('a 1\n');
    expect((await fetch(address, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    await expect(serveMetrics(port)).rejects.toThrow('EADDRINUSE');
    await metrics.close();
  });
});

describe('incidents that are sent', () => {
  it('are sent once each, and not once they have ended or cost nothing', async () => {
    const told: string[] = [];
    const box = new Outbox(async ({ id }) => told.push(id) > 0);
    for (const incident of [
      INCIDENT,
      { ...INCIDENT, change: 2 },
      { ...numbered(1), state: 'ended' as const },
    ])
      box.add(incident);
    box.add({ ...numbered(2), alarm: false });
    box.add({ ...INCIDENT, run: 'another' });
    await box.close(1000);
    expect(told).toEqual([INCIDENT.id, INCIDENT.id]);
  });

  it('are tried again if they were not taken, and given up after that', async () => {
    let tries = 0;
    const box = new Outbox(async () => ++tries === 3, [1, 1]);
    box.add(INCIDENT);
    await box.close(1000);
    expect([tries, box.lost]).toEqual([3, 0]);
    const never = new Outbox(async () => false, [1, 1]);
    never.add(INCIDENT);
    await never.close(1000);
    expect(never.lost).toBe(1);
  });

  it('are at most 20 in an hour, and do not pile up', async () => {
    let told = 0;
    const box = new Outbox(async () => ++told > 0, []);
    for (let i = 0; i < 100; i++) {
      box.add(numbered(i));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await box.close(1000);
    expect([told, box.lost]).toEqual([20, 80]);
  });

  it('to a receiver that never answers hold up nobody', async () => {
    const box = new Outbox(() => new Promise(() => {}), []);
    const before = performance.now();
    for (let i = 0; i < 40; i++) box.add(numbered(i));
    await box.close(20);
    expect(performance.now() - before).toBeLessThan(2000);
    expect(box.lost).toBeGreaterThan(20);
  });
});

it('a webhook gets JSON with a text, and is not asked again if it says that the message is wrong', async () => {
  const bodies: string[] = [];
  const answers = [200, 404, 500, 429];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      bodies.push(body);
      response.writeHead(answers[bodies.length - 1]!).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const send = webhook(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, 'runs/a');
  const taken = [];
  for (const _ of answers) taken.push(await send(INCIDENT));
  expect(taken).toEqual([true, true, false, false]);
  expect(JSON.parse(bodies[0]!)).toEqual(JSON.parse(JSON.stringify(messageFor(INCIDENT, 'runs/a'))));
  expect(JSON.parse(bodies[0]!).text).toMatch(/^whyslow: Since step 2,0\d\d/);
  server.closeAllConnections();
  server.close();
  expect(await send(INCIDENT)).toBe(false);
});

it('a job takes an incident for its tracker from OUT/control; one that nobody takes is taken back', () =>
  inFolder(async (out) => {
    const sent = tracker('wandb', out)(INCIDENT);
    const control = join(out, 'control');
    const left = async () =>
      (await readdir(control).catch(() => [])).filter((name) => /^incident-/.test(name));
    while ((await left()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const [file] = await left();
    const alert = JSON.parse(await readFile(join(control, file!), 'utf8'));
    expect(alert).toMatchObject({ to: 'wandb', incident: INCIDENT.id, step: INCIDENT.step });
    expect(alert.text).toContain(INCIDENT.sentence);
    await rm(join(control, file!));
    expect(await sent).toBe(true);
    expect(await tellJob(out, alert, 10)).toBe(false);
    expect(await tellJob(join(out, 'incidents.jsonl', 'a'), alert, 10)).toBe(false);
    expect(await readdir(control)).toEqual([]);
  }));

it('a command gets the incident on its standard input, and one that fails is not run twice', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'got');
    const send = command(`cat >> '${file}'; echo "$WHYSLOW_INCIDENT_CAUSE" >> '${file}'; exit 3`, 'runs/a');
    expect(await send(INCIDENT)).toBe(true);
    const [line, cause] = (await readFile(file, 'utf8')).split('\n');
    expect(JSON.parse(line!)).toEqual(JSON.parse(JSON.stringify(INCIDENT)));
    expect(cause).toBe('loader');
  }));

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
