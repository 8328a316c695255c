import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How long the recorder may take to write its last sample. */
const GRACE_MS = 1000;
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
      env: {},
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
