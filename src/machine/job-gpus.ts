import type { ProcessFacts } from '../model/recording.js';
import type { CommandResult, RunCommand } from './command.js';

const ASK_SECONDS = 10;

/** GPUs of a job as nvidia-smi numbers them. Null: not known, as in most containers, whose process ids are their own. */
export async function gpusOfJob(
  run: RunCommand,
  processes: readonly ProcessFacts[],
): Promise<readonly number[] | null> {
  const ask = (query: string) => run('nvidia-smi', [query, '--format=csv,noheader'], ASK_SECONDS);
  const [apps, gpus] = await Promise.all([
    ask('--query-compute-apps=pid,gpu_uuid'),
    ask('--query-gpu=index,uuid'),
  ]);
  const indexOf = new Map(pairsOf(gpus).map(([index, uuid]) => [uuid, Number(index)]));
  const own = new Set(processes.map(({ pid }) => `${pid}`));
  const listed = pairsOf(apps).flatMap(([pid, uuid]) => (own.has(pid) ? (indexOf.get(uuid) ?? []) : []));
  if (listed.length > 0) return sorted(listed);
  // As they were set at the start: a process may have changed its own.
  const named = processes
    .filter(({ gpu }) => gpu)
    .flatMap(({ environment }) => (environment.CUDA_VISIBLE_DEVICES ?? '').split(','))
    .filter((part) => /^\d{1,3}$/.test(part.trim()));
  return named.length > 0 ? sorted(named.map(Number)) : null;
}

const sorted = (indices: readonly number[]) => [...new Set(indices)].sort((a, b) => a - b);

function pairsOf(result: CommandResult | null): (readonly [string, string])[] {
  const lines = result?.code === 0 ? result.stdout.split('\n') : [];
  return lines.flatMap((line) => {
    const [first, second] = line.split(',').map((cell) => cell.trim());
    return first && second ? [[first, second] as const] : [];
  });
}
