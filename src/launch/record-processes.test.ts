import { type ChildProcess, spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { drawJob } from '../../test/helpers/triage.js';
import { largest } from '../base/statistics.js';
import { jobActivity } from '../telemetry/processes/job-activity.js';
import { readRecording } from '../triage/replay.js';
import { recordProcesses, ThinnedRecording } from './record-processes.js';

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

  it('the process recorder ends on request', () =>
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

const drawn = drawJob({ processes: [{ pid: 100, main: 0.5 }] });
const trainer = drawn.processes[0]!;
const at = (seconds: number, pid = 100) => ({
  ...drawn.samples[0]!,
  seconds,
  processes: [{ ...drawn.samples[0]!.processes[0]!, pid }],
});
const read = (path: string) => readRecording(readFileSync(path));

describe('a recording of bounded size', () => {
  it('keeps samples evenly spread over the job, however long it is', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'proc.jsonl');
      const recording = new ThinnedRecording(path, drawn.machine, { samples: 20, bytes: 1e9 });
      let [seconds, taken] = [0, 0];
      for (; seconds < 250; seconds += recording.stretch, taken++) {
        recording.add([trainer], at(seconds));
        expect(read(path).recording.samples.length).toBeLessThanOrEqual(20);
      }
      expect(taken).toBeLessThan(100);
      const times = read(path).recording.samples.map((s) => s.seconds);
      expect(times.length).toBeGreaterThanOrEqual(10);
      expect(times[0]).toBe(0);
      expect(new Set(times.slice(1).map((t, i) => t - times[i]!)).size).toBe(1);
      expect(250 - times.at(-1)!).toBeLessThanOrEqual(2 * recording.stretch);
      expect(readdirSync(folder)).toEqual(['proc.jsonl']);
    }));

  it('of a long job has the last minutes in detail, and the rest of it evenly spread', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'proc.jsonl');
      const recording = new ThinnedRecording(path, drawn.machine, { samples: 80, bytes: 1e9 });
      let seconds = 0;
      for (; seconds < 100_000; seconds += recording.stretch) recording.add([trainer], at(seconds));
      const times = read(path).recording.samples.map((s) => s.seconds);
      expect(times.length).toBeLessThanOrEqual(80);
      expect(times[0]).toBe(0);
      const gaps = times.slice(1).map((t, i) => t - times[i]!);
      expect(seconds - times.at(-1)!).toBeLessThanOrEqual(16);
      expect(gaps.slice(-20)).toEqual(Array.from({ length: 20 }, () => 16));
      // No stretch of the job is left out.
      expect(largest(gaps)).toBeLessThan(100_000 / 10);
      expect(jobActivity(read(path).recording)!.samples).toBeLessThan(times.length - 15);
    }));

  it('stays below its bytes, and forgets processes that left with their samples', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'proc.jsonl');
      const recording = new ThinnedRecording(path, drawn.machine, { samples: 1e9, bytes: 20_000 });
      for (let i = 0; i < 500; i++) {
        recording.add([{ ...trainer, pid: 100 + i }], at(i, 100 + i));
        expect(statSync(path).size).toBeLessThan(20_000);
      }
      const { recording: kept, skipped } = read(path);
      expect(skipped).toBe(0);
      const pids = new Set(kept.samples.flatMap((s) => s.processes.map((p) => p.pid)));
      expect(kept.processes.map((p) => p.pid)).toEqual([...pids]);
    }));

  it('writes a process again when more is known about it', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'proc.jsonl');
      const recording = new ThinnedRecording(path, drawn.machine);
      recording.add([{ ...trainer, torch: false }], at(0));
      recording.add([trainer], at(1));
      recording.add([trainer], at(2));
      expect(read(path).recording.processes).toEqual([trainer]);
      expect(readFileSync(path, 'utf8').match(/"process":/g)).toHaveLength(2);
    }));
});
