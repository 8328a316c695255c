import { setPriority } from 'node:os';
import { recordProcesses } from './record-processes.js';

/**
 * A program of its own, `recorder.js PID FOLDER`: reading /proc of a process that hangs in the kernel can block, and that must
 * not keep `whyslow run` from passing signals on. It has a lower priority than the job, but not the lowest: where cores are
 * short, samples matter most. It ends with the job, with SIGTERM, or when `whyslow run` is gone and its standard input closes.
 */
const stop = new AbortController();
const end = () => stop.abort();
process.on('SIGTERM', end);
process.stdin.on('end', end).on('error', end).resume();
try {
  setPriority(5);
} catch {
  // Some containers do not allow it.
}
const [pid, folder = ''] = process.argv.slice(2);
await recordProcesses({ pid: Number(pid), folder, stopped: stop.signal }).catch(() => {});
process.exit(0);
