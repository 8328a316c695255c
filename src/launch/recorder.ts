import { setPriority } from 'node:os';
import { recordProcesses } from './record-processes.js';

/**
 * A program of its own, `recorder.js PID FOLDER`: reading /proc of a process that hangs in the kernel can block, and that must
 * not keep `whyslow run` from passing signals on. It has the lowest priority, and ends with the job, with SIGTERM, or when
 * the other end of its standard input closes because `whyslow run` is gone.
 */
const stop = new AbortController();
const end = () => stop.abort();
process.on('SIGTERM', end);
process.stdin.on('end', end).on('error', end).resume();
try {
  setPriority(19);
} catch {
  // Some containers do not allow it.
}
const [pid, folder = ''] = process.argv.slice(2);
await recordProcesses({ pid: Number(pid), folder, stopped: stop.signal }).catch(() => {});
process.exit(0);
