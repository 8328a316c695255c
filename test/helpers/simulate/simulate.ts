import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { drawKineto } from './draw.js';
import type { Job } from './job.js';
import { layOut } from './layout.js';
import { type SimulateOptions, settingsOf } from './options.js';
import { play } from './play.js';
import type { Recording } from './recording.js';
import { type Truth, truthOf } from './truth.js';
import { planWork } from './work-plan.js';

export interface SimulatedFile {
  readonly rank: number;
  readonly name: string;
  /** Drawn when asked for: hundreds of ranks need not be in memory at once. */
  readonly json: string;
}

export interface SimulatedRun {
  /** In order of rank, without the missing ones. */
  readonly files: readonly SimulatedFile[];
  readonly truth: Truth;
  readonly job: Job;
  /** By rank, in true time. */
  readonly recordings: readonly Recording[];
}

/**
 * Trains on simulated ranks with a planted fault and returns the truth. All times follow from simulated hosts, GPUs and
 * networks. The seed decides noise, clocks and start times. The same seed without the fault gives the healthy step.
 */
export function simulateRun(options: SimulateOptions): SimulatedRun {
  const settings = settingsOf(options);
  const layout = layOut(settings);
  const job: Job = { settings, layout, work: planWork(settings, layout) };
  const played = play(job, settings.fault, true);
  const healthy = settings.fault ? play(job, null, false) : played;
  const recordings = played.machines.map((m) => m.recording);
  const seen = played.machines.map((m) => m.rank).filter((r) => !settings.missingRanks.includes(r));
  return {
    files: seen.map((rank) => fileOf(job, rank, recordings[rank]!)),
    truth: truthOf(job, played, healthy),
    job,
    recordings,
  };
}

function fileOf(job: Job, rank: number, recording: Recording): SimulatedFile {
  return {
    rank,
    name: `rank-${rank}.json`,
    get json() {
      return drawKineto(job, rank, recording);
    },
  };
}

/** Writes `rank-<r>.json.gz`; returns the paths. */
export function writeRun(run: SimulatedRun, directory: string): string[] {
  mkdirSync(directory, { recursive: true });
  return run.files.map(({ name, json }) => {
    const path = join(directory, `${name}.gz`);
    writeFileSync(path, gzipSync(json, { level: 1 }));
    return path;
  });
}
