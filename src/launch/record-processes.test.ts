import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { largest } from '../base/statistics.js';
import { readRecording } from '../triage/replay.js';
import { recordProcesses } from './record-processes.js';

const started = (script: string): ChildProcess => spawn('sh', ['-c', script], { stdio: 'ignore' });
const running = new AbortController().signal;

describe.runIf(process.platform === 'linux')('recording the processes of a job', () => {
  it('samples the whole tree until the job ends', () =>
    inFolder(async (folder) => {
      const job = started('(while :; do :; done) & busy=$!; sleep 1.2; kill $busy');
      await recordProcesses({ pid: job.pid!, folder, everyMs: 100, stopped: running });
      const [name] = readdirSync(folder);
      expect(name).toMatch(/^proc-.*\.jsonl$/);
      const { recording, skipped } = readRecording(readFileSync(join(folder, name!)));
      expect(skipped).toBe(0);
      expect(recording.machine).toMatchObject({ pid: job.pid, gpus: null });
      expect(recording.machine.startedNs! / 1e6 - Date.now()).toBeLessThan(60_000);
      expect(recording.processes[0]).toMatchObject({ pid: job.pid, torch: false });
      expect(recording.processes.length).toBeGreaterThanOrEqual(2);
      expect(recording.samples.length).toBeGreaterThanOrEqual(2);
      const busy = recording.samples.at(-1)!.processes.flatMap((p) => p.threads.map((t) => t.cpu));
      expect(largest(busy)).toBeGreaterThan(0);
    }));

  it('leaves no file of a job that has ended, and does not fail where it cannot write', () =>
    inFolder(async (folder) => {
      const gone = join(folder, 'a');
      await recordProcesses({ pid: 2 ** 22 + 1, folder: gone, stopped: running });
      expect(existsSync(gone)).toBe(false);
      const job = started('sleep 5');
      writeFileSync(join(folder, 'file'), '');
      await expect(
        recordProcesses({ pid: job.pid!, folder: join(folder, 'file'), stopped: running }),
      ).rejects.toThrow(); // the recorder, a process of its own, ends
      job.kill();
    }));

  it('ends when it is told to', () =>
    inFolder(async (folder) => {
      const job = started('sleep 30');
      const stop = new AbortController();
      setTimeout(() => stop.abort(), 200);
      await recordProcesses({ pid: job.pid!, folder, everyMs: 60_000, stopped: stop.signal });
      job.kill();
      expect(readdirSync(folder)).toHaveLength(1);
    }));
});
