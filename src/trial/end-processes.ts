import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Time to close files and connections before it is killed. */
const GRACE_MS = 3000;
const POLL_MS = 50;

/** How processes of a job are known: launchers put ranks into sessions of their own, and workers survive their parent. */
export interface Family {
  /** Of a process group. */
  readonly leader: number;
  /** In the environment. */
  readonly mark: string;
  /** The mount namespace that only they are in. Null: they have none of their own. */
  readonly namespace: string | null;
}

/** Ends all processes of a job. First politely, then not. Never fails. */
export async function endProcesses(family: Family, polite = true): Promise<void> {
  if (polite) {
    await signalAll(family, 'SIGTERM');
    for (const end = Date.now() + GRACE_MS; Date.now() < end; await sleep(POLL_MS))
      if ((await membersOf(family)).length === 0 && !send(-family.leader, 0)) return;
  }
  // One that is starting another may be ahead of the list.
  for (const end = Date.now() + GRACE_MS; Date.now() < end; await sleep(POLL_MS)) {
    await signalAll(family, 'SIGKILL');
    if ((await membersOf(family)).length === 0) return;
  }
}

async function signalAll(family: Family, signal: NodeJS.Signals): Promise<void> {
  send(-family.leader, signal);
  for (const pid of await membersOf(family)) send(pid, signal);
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // it has ended
  }
}

/** Linux only. Elsewhere the process group is all that is known. */
async function membersOf({ mark, namespace }: Family): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      if (pid === process.pid) return false;
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
      if (environment.includes(mark)) return true;
      return namespace !== null && namespace === (await readlink(`/proc/${pid}/ns/mnt`).catch(() => ''));
    }),
  );
  return pids.filter((_, i) => found[i]);
}
