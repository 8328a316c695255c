import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { readRecording } from '../triage/replay.js';
import { drawJob } from '../triage/testing.js';
import { ThinnedRecording } from './thinned-recording.js';

const drawn = drawJob({ processes: [{ pid: 100, main: 0.5 }] });
const process = drawn.processes[0]!;
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
      for (; seconds < 86_400; seconds += recording.stretch, taken++) {
        recording.add([process], at(seconds));
        expect(read(path).recording.samples.length).toBeLessThanOrEqual(20);
      }
      expect(taken).toBeLessThan(200);
      const times = read(path).recording.samples.map((s) => s.seconds);
      expect(times.length).toBeGreaterThanOrEqual(10);
      expect(times[0]).toBe(0);
      expect(new Set(times.slice(1).map((t, i) => t - times[i]!)).size).toBe(1);
      expect(86_400 - times.at(-1)!).toBeLessThanOrEqual(2 * recording.stretch);
      expect(readdirSync(folder)).toEqual(['proc.jsonl']);
    }));

  it('stays below its bytes, and forgets processes that left with their samples', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'proc.jsonl');
      const recording = new ThinnedRecording(path, drawn.machine, { samples: 1e9, bytes: 20_000 });
      for (let i = 0; i < 500; i++) {
        recording.add([{ ...process, pid: 100 + i }], at(i, 100 + i));
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
      recording.add([{ ...process, torch: false }], at(0));
      recording.add([process], at(1));
      recording.add([process], at(2));
      expect(read(path).recording.processes).toEqual([process]);
      expect(readFileSync(path, 'utf8').match(/"process":/g)).toHaveLength(2);
    }));
});
