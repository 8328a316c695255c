import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { largest } from '../base/statistics.js';
import { readRecording } from '../triage/replay.js';
import { recordProcesses } from './record-processes.js';

const started = (script: string): ChildProcess => spawn('sh', ['-c', script], { stdio: 'ignore' });

/** A program that has mapped a file named as torch's library: any library will do. */
function likeTorch(folder: string, script: string): ChildProcess {
  const library = join(folder, 'site/torch/lib/libtorch_cpu.so');
  mkdirSync(dirname(library), { recursive: true });
  const [path] = readFileSync('/proc/self/maps', 'latin1').match(/\/\S+libc\.so\S*/) ?? [];
  copyFileSync(path!, library);
  return spawn('sh', ['-c', script], { stdio: 'ignore', env: { ...process.env, LD_PRELOAD: library } });
}
const running = new AbortController().signal;

describe.runIf(process.platform === 'linux')('recording the processes of a job', () => {
  it('samples the whole tree until the job ends', () =>
    inFolder(async (folder) => {
      const job = likeTorch(folder, '(while :; do :; done) & busy=$!; sleep 1.2; kill $busy');
      const out = join(folder, 'telemetry');
      await recordProcesses({ pid: job.pid!, folder: out, everyMs: 100, stopped: running });
      const [name] = readdirSync(out);
      expect(name).toMatch(/^proc-.*\.jsonl$/);
      const { recording, skipped } = readRecording(readFileSync(join(out, name!)));
      expect(skipped).toBe(0);
      expect(recording.machine).toMatchObject({ pid: job.pid, gpus: null });
      expect(recording.machine.startedNs! / 1e6 - Date.now()).toBeLessThan(60_000);
      expect(recording.processes[0]).toMatchObject({ pid: job.pid, torch: true });
      expect(recording.processes.length).toBeGreaterThanOrEqual(2);
      expect(recording.samples.length).toBeGreaterThanOrEqual(2);
      const busy = recording.samples.at(-1)!.processes.flatMap((p) => p.threads.map((t) => t.cpu));
      expect(largest(busy)).toBeGreaterThan(0);
    }));

  it('leaves no file of a job that has ended, or does not train', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'telemetry');
      await recordProcesses({ pid: 2 ** 22 + 1, folder: out, stopped: running });
      await recordProcesses({ pid: started('sleep 0.3').pid!, folder: out, everyMs: 50, stopped: running });
      expect(existsSync(out)).toBe(false);
    }));

  it('ends where it cannot write', () =>
    inFolder(async (folder) => {
      const job = likeTorch(folder, 'sleep 5');
      writeFileSync(join(folder, 'file'), '');
      await expect(
        recordProcesses({ pid: job.pid!, folder: join(folder, 'file'), stopped: running }),
      ).rejects.toThrow(); // the recorder, a process of its own, ends
      job.kill();
    }));

  it('ends when it is told to', () =>
    inFolder(async (folder) => {
      const job = likeTorch(folder, 'sleep 30');
      const out = join(folder, 'telemetry');
      const stop = new AbortController();
      const looking = setInterval(() => existsSync(out) && stop.abort(), 20);
      await recordProcesses({ pid: job.pid!, folder: out, everyMs: 50, stopped: stop.signal });
      clearInterval(looking);
      job.kill();
      expect(readdirSync(out)).toHaveLength(1);
    }));
});
