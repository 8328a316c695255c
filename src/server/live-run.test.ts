import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { InputError } from '../base/input-error.js';
import type { OpenedRun } from '../library/open-stream.js';
import { LiveRun } from './live-run.js';

const opened = (last: number) =>
  ({ page: { report: { step: { last } } }, timeline: null }) as unknown as OpenedRun;

it('diagnoses only what has grown, and keeps the last diagnosis where the next fails', () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, 'telemetry'));
    const grow = (name: string) => writeFileSync(join(folder, name), '{}\n', { flag: 'a' });
    let times = 0;
    const live = new LiveRun(folder, null, async () => {
      if (++times === 1) throw new InputError('nothing yet');
      if (times === 3) throw new Error('half a file');
      return opened(times);
    });
    // An empty folder.
    await live.look();
    expect([times, live.state().version, live.state().lastStep]).toEqual([0, 0, null]);
    grow('events.jsonl');
    await live.look();
    await live.look();
    expect([times, live.state().version]).toEqual([1, 0]);
    grow('events.jsonl');
    await live.look();
    expect([times, live.state().version, live.state().lastStep]).toEqual([2, 1, 2]);
    grow('telemetry/dmon.txt');
    expect(await live.look()).toBe(0);
    expect(times).toBe(2);
    grow('events.jsonl');
    await live.look();
    expect([times, live.state().version, live.state().lastStep]).toEqual([3, 1, 2]);
    expect(live.state().of).toBe('running');
    grow('events.jsonl');
    await live.end();
    expect([live.state().of, live.state().version, live.state().lastStep]).toEqual(['ended', 2, 4]);
  }));
