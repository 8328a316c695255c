import { readdir, readFile } from 'node:fs/promises';
import { basename, delimiter } from 'node:path';

/** When to look, in ms after the start: torch takes seconds to import, and a launcher may take minutes to get there. */
const LOOKS = [10_000, 30_000, 120_000, 600_000];

interface Watch {
  stop(): void;
}

/**
 * Warns the user while the job runs, not afterwards, that a process which uses torch is not measured: its launch script sets
 * PYTHONPATH, or Python ignores the environment. Linux only. Never fails.
 */
export function watchForUnmeasured(
  startUp: string,
  warn: (message: string) => void,
  looks: readonly number[] = LOOKS,
): Watch {
  let said = false;
  const look = async () => {
    if (said) return;
    const found = await findUnmeasured(process.pid, startUp);
    if (found === null || said) return;
    said = true;
    warn(found);
  };
  const timers = looks.map((ms) => setTimeout(() => void look().catch(() => {}), ms).unref());
  return { stop: () => timers.forEach(clearTimeout) };
}

/** A message about the first process, `root` or below it, that uses torch and cannot be measured. Null: there is none. */
export async function findUnmeasured(root: number, startUp: string): Promise<string | null> {
  for (const pid of [root, ...(await descendants(root))]) {
    const environment = await zeroSeparated(pid, 'environ');
    // Another environment altogether is a choice: the capture was switched off, or it is another job.
    if (!environment.includes('WHYSLOW_INJECT=1')) continue;
    const command = await zeroSeparated(pid, 'cmdline');
    const why = whyNotMeasured(command, environment, startUp);
    if (why !== null && (await usesTorch(pid))) return `process ${pid} is not measured: ${why}`;
  }
  return null;
}

/** A Python that is measured has loaded our start-up file, or a .pth file has done it for us. */
function whyNotMeasured(
  command: readonly string[],
  environment: readonly string[],
  startUp: string,
): string | null {
  if (!/^python/.test(basename(command[0] ?? ''))) return null;
  const flags = command.slice(1, firstArgument(command)).filter((word) => /^-[A-Za-z]*[IES]/.test(word));
  if (flags.length > 0) return `Python ran with ${flags[0]}, which ignores the environment`;
  const path =
    environment.find((entry) => entry.startsWith('PYTHONPATH='))?.slice('PYTHONPATH='.length) ?? '';
  if (path.split(delimiter).includes(startUp)) return null;
  return (
    'its launch script sets PYTHONPATH. Extend it instead (PYTHONPATH=mine:$PYTHONPATH), or install the package ' +
    'that comes with whyslow (python/ in its folder) into this Python and run `whyslow-capture install-pth`'
  );
}

function firstArgument(command: readonly string[]): number {
  const at = command.findIndex((word, i) => i > 0 && !word.startsWith('-'));
  return at < 0 ? command.length : at;
}

/** torch is loaded, and `whyslow-capture install-pth` has not been run in its environment. */
async function usesTorch(pid: number): Promise<boolean> {
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8').catch(() => '');
  const torch = /^\S+ \S+ \S+ \S+ \S+\s+(.*)\/torch\/lib\/libtorch[^/]*\.so/m.exec(maps);
  if (!torch) return false;
  const beside: readonly string[] = await readdir(torch[1]!).catch(() => []);
  return !beside.includes('whyslow_capture.pth');
}

// Not machine/processes.ts, which reads at once: /proc of a process that hangs in the kernel can block, and signals must pass.
async function zeroSeparated(pid: number, file: 'environ' | 'cmdline'): Promise<string[]> {
  return (await readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')).split('\0').filter(Boolean);
}

async function descendants(root: number): Promise<readonly number[]> {
  const children = new Map<number, number[]>();
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '');
    // The name of the program, in parentheses, may hold anything.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    if (parent > 0) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found: number[] = [];
  const open = [root];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop())
    for (const child of children.get(pid) ?? []) {
      found.push(child);
      open.push(child);
    }
  return found;
}
