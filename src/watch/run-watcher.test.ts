import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { randomNormal } from '../../test/helpers/watched-job.js';
import type { Incident } from '../model/incident.js';
import { readIncidents } from './incidents/incidents-file.js';
import { RunWatcher } from './run-watcher.js';

const random = randomNormal(11);
const HEADER = `${JSON.stringify({ whyslow: 1, run: 'r', rank: 0, world_size: 1, anchors: [{ wall_ns: 1.8e18 }] })}\n`;

/** Steps whose input takes 2 ms, and from `slowFrom` on 40 ms. */
function logOf(from: number, to: number, slowFrom: number): string {
  let text = '';
  for (let step = from; step < to; step += 10) {
    const data = step < slowFrom ? 2 : 40;
    const whole = data + 100 * Math.exp(0.01 * random());
    const start = step * 102 + Math.max(0, step - slowFrom) * 38;
    const common = { step, rank: 0, run: 'r', clock: 'host' };
    for (const [name, start_ms, duration_ms] of [
      ['data_wait', start, data],
      ['training_step', start, whole],
    ])
      text += `${JSON.stringify({ name, ...common, start_ms, duration_ms })}\n`;
  }
  return text;
}

async function inRun(use: (out: string, log: string) => Promise<void>): Promise<void> {
  await inFolder(async (out) => {
    await mkdir(join(out, 'cuda_event_profiler'));
    await use(out, join(out, 'cuda_event_profiler', 'cuda_events_rank_0.jsonl'));
  });
}

it('a job is followed while it writes, also half lines; an incident is written once, whoever watches', () =>
  inRun(async (out, log) => {
    const heard: Incident[] = [];
    const watcher = await RunWatcher.open(out, { onIncident: (i) => heard.push(i) });
    await watcher.look();
    expect(watcher.state().step).toBeNull();
    const text = HEADER + logOf(0, 4000, 2000);
    for (let at = 0; at < text.length; at += 30_011) {
      await appendFile(log, text.slice(at, at + 30_011));
      while (await watcher.look());
    }
    await watcher.finish();
    expect(watcher.state().step).toBe(3990);
    expect(heard.map(({ kind, cause, state }) => ({ kind, cause, state }))).toEqual([
      { kind: 'slower', cause: 'loader', state: 'open' },
    ]);
    expect(await readIncidents(out)).toEqual(heard);
    const second = await RunWatcher.open(out, { onIncident: () => expect.unreachable('it is known') });
    await second.finish();
    expect((await readFile(join(out, 'incidents.jsonl'), 'utf8')).trim().split('\n')).toHaveLength(1);
  }));

it('a clock that jumps by days in either direction changes nothing: neither what is found nor whether the job runs', () =>
  inRun(async (out, log) => {
    const text = HEADER + logOf(0, 4000, 2000);
    const straight = await incidentsWith(out, log, text, () => {});
    expect(straight).toMatchObject([{ kind: 'slower', cause: 'loader', state: 'open' }]);
    // A rank of this machine whose process cannot be seen, as in a container: only what it writes shows that it is alive.
    await mkdir(join(out, 'ranks'));
    const manifest = { rank: 0, run: 'r', host: hostname(), pid: 2 ** 22 + 1, anchors: [{ at: 'start' }] };
    await writeFile(join(out, 'ranks', 'rank_0.json'), JSON.stringify(manifest));
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const days = [3, -40, 400];
      const jump = async (watcher: RunWatcher) => {
        vi.setSystemTime(Date.now() + (days.shift() ?? 0) * 86.4e6);
        expect(await watcher.mayBeRunning()).toBe(true);
      };
      expect(await incidentsWith(out, log, text, jump)).toEqual(straight);
    } finally {
      vi.useRealTimers();
    }
  }));

/** What is found in a log that arrives in four parts. */
async function incidentsWith(
  out: string,
  log: string,
  text: string,
  between: (watcher: RunWatcher) => unknown,
): Promise<readonly Incident[]> {
  await rm(log, { force: true });
  await rm(join(out, 'incidents.jsonl'), { force: true });
  const watcher = await RunWatcher.open(out);
  const part = Math.ceil(text.length / 4);
  for (let at = 0; at < text.length; at += part) {
    await appendFile(log, text.slice(at, at + part));
    while (await watcher.look());
    await between(watcher);
  }
  await watcher.finish();
  expect(await readIncidents(out)).toEqual(watcher.state().incidents);
  return watcher.state().incidents;
}

it('a folder that goes away and comes back ends nothing', () =>
  inRun(async (out, log) => {
    const watcher = await RunWatcher.open(out);
    await writeFile(log, HEADER + logOf(0, 2500, 2000));
    while (await watcher.look());
    await rename(out, `${out}-away`);
    expect(await watcher.look()).toBe(false);
    expect(watcher.state().isThere).toBe(false);
    await rename(`${out}-away`, out);
    await appendFile(log, logOf(2500, 4000, 2000));
    await watcher.finish();
    expect(watcher.state()).toMatchObject({ isThere: true, step: 3990 });
    expect(watcher.state().incidents).toMatchObject([{ cause: 'loader' }]);
  }));

it('incidents that cannot be written are written later', () =>
  inRun(async (out, log) => {
    // A folder in the way fails for root too.
    await mkdir(join(out, 'incidents.jsonl'));
    const watcher = await RunWatcher.open(out);
    await writeFile(log, HEADER + logOf(0, 4000, 2000));
    while (await watcher.look());
    expect(watcher.state().writeProblem).toBe('EISDIR');
    expect(watcher.state().incidents).toHaveLength(1);
    await rm(join(out, 'incidents.jsonl'), { recursive: true });
    await watcher.look();
    expect(watcher.state().writeProblem).toBeNull();
    expect(await readIncidents(out)).toHaveLength(1);
  }));
