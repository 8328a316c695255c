import { spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isOnPath, NvidiaSmi } from '../machine/gpu-watch.js';
import type { Environment } from './environment.js';
import { newTelemetryFile } from './run-id.js';

/** If a job starts whyslow several times on one machine, only local rank 0 watches the GPUs. */
const LOCAL_RANKS = ['SLURM_LOCALID', 'OMPI_COMM_WORLD_LOCAL_RANK', 'MPI_LOCALRANKID'] as const;
/** How long the recorder may take to end after SIGTERM. What it has written is kept in any case. */
const GRACE_MS = 1000;

interface Telemetry {
  /** Ends nvidia-smi and waits until its output is in the file. */
  stop(): Promise<void>;
}

/** Records the GPUs of this machine during a run, if there is an nvidia-smi. Never fails. */
export function startTelemetry(out: string, env: Environment): Telemetry {
  const isOther = LOCAL_RANKS.some((name) => Number(env[name] ?? 0) > 0);
  if (isOther || !isOnPath('nvidia-smi', env)) return { stop: async () => {} };
  let file: Promise<WriteStream | null> | null = null;
  const table = (text: string) => {
    file ??= newTelemetryFile(join(out, 'telemetry'), 'dmon', 'txt').then(stream, () => null);
    void file.then((opened) => opened?.write(text, 'latin1'));
  };
  const smi = new NvidiaSmi(env, { table }, true);
  return {
    stop: async () => {
      await smi.stop();
      const opened = await file;
      if (opened) await new Promise<void>((resolve) => opened.end(() => resolve()));
    },
  };
}

/** Writing may fail, for a full disk for one: the job goes on. */
const stream = (path: string) => createWriteStream(path, { flags: 'a' }).on('error', () => {});

/** It holds the text of one file, at most 8 MB. */
const MEMORY_MB = 96;

interface ProcessTelemetry {
  /** Called with the root of the job once it has started. */
  watch(pid: number): void;
  stop(): Promise<void>;
}

/** Records what the processes of a job do, from /proc, to OUT/telemetry/proc-<host>.jsonl. Linux only. Never fails. */
export function processTelemetry(out: string): ProcessTelemetry {
  let ended: Promise<void> = Promise.resolve();
  let end = () => {};
  const start = (pid: number): Promise<void> => {
    // The bundle has recorder.js next to this module.
    const program = fileURLToPath(new URL('./recorder.js', import.meta.url));
    const options = [`--max-old-space-size=${MEMORY_MB}`, '--v8-pool-size=1'];
    const child = spawn(process.execPath, [...options, program, `${pid}`, join(out, 'telemetry')], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Ctrl-C in the terminal must not end it before the job.
      detached: true,
      env: { WHYSLOW_SHARE: process.env.WHYSLOW_SHARE },
    });
    child.stdin.on('error', () => {});
    return new Promise<void>((resolve) => {
      child.once('error', () => resolve()).once('close', () => resolve());
      end = () => {
        child.kill('SIGTERM');
        setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref();
      };
    });
  };
  return {
    watch: (pid) => {
      if (process.platform === 'linux') ended = start(pid);
    },
    stop: async () => {
      end();
      await ended;
    },
  };
}
