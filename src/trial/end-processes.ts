import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Time to close files and connections before it is killed. */
const GRACE_MS = 3000;
const POLL_MS = 50;

/**
 * Ends a process group and every other process that has `mark` in its environment: launchers put ranks into sessions of
 * their own, and workers survive their parent. First politely, then not. Never fails.
 */
export async function endProcesses(leader: number, mark: string, polite = true): Promise<void> {
  if (polite) {
    await signalAll(leader, mark, 'SIGTERM');
    for (const end = Date.now() + GRACE_MS; Date.now() < end; await sleep(POLL_MS))
      if ((await marked(mark)).length === 0 && !send(-leader, 0)) return;
  }
  await signalAll(leader, mark, 'SIGKILL');
}

async function signalAll(leader: number, mark: string, signal: NodeJS.Signals): Promise<void> {
  send(-leader, signal);
  for (const pid of await marked(mark)) send(pid, signal);
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // it has ended
  }
}

/** Linux only. Elsewhere the process group is all that is known. */
async function marked(mark: string): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
      return environment.includes(mark) && pid !== process.pid;
    }),
  );
  return pids.filter((_, i) => found[i]);
}
