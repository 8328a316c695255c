import { basename } from 'node:path';
import { commandWithoutSecrets } from '../base/secrets.js';
import type { ProcessFacts, ProcessSample } from '../model/recording.js';
import type { MachineFiles } from './files.js';
import { type ProcStat, parseFields, parseStat, threadOf, zeroSeparated } from './proc-text.js';

/** Variables that say how a process was started. No other is kept: environments hold secrets. */
const VARIABLES =
  /^(RANK|LOCAL_RANK|WORLD_SIZE|SLURM_PROCID|OMP_NUM_THREADS|MKL_NUM_THREADS|CUDA_VISIBLE_DEVICES)=(.*)$/;
const GPU_DEVICE = /^\/dev\/(?:nvidia\d|nvidia-uvm|kfd)/;
const MAX_COMMAND = 500;
/** A process with more threads is judged by the first ones. */
const MAX_THREADS = 256;

export type ProcessTable = ReadonlyMap<number, ProcStat>;

/** All processes that can be seen. */
export function processTable(files: MachineFiles): ProcessTable {
  const table = new Map<number, ProcStat>();
  for (const name of files.list('/proc')) {
    const stat = /^\d+$/.test(name) ? parseStat(files.read(`/proc/${name}/stat`) ?? '') : null;
    if (stat !== null) table.set(Number(name), stat);
  }
  return table;
}

/** A process and all below it. */
export function treeOf(root: number, table: ProcessTable): number[] {
  const found = new Set(table.has(root) ? [root] : []);
  // Sets visit what is added meanwhile, and a process that seems to be its own ancestor is visited once.
  for (const pid of found) for (const [child, stat] of table) if (stat.parent === pid) found.add(child);
  return [...found];
}

export const isPython = (files: MachineFiles, pid: number): boolean =>
  /^(?:python|pypy)/.test(basename(zeroSeparated(files.read(`/proc/${pid}/cmdline`))[0] ?? '')) ||
  /^python/.test(basename(files.link(`/proc/${pid}/exe`) ?? ''));

export function factsOf(files: MachineFiles, pid: number, stat: ProcStat): ProcessFacts {
  const open = files.list(`/proc/${pid}/fd`).map((fd) => files.link(`/proc/${pid}/fd/${fd}`) ?? '');
  const variables = zeroSeparated(files.read(`/proc/${pid}/environ`)).flatMap((entry) => {
    const [, name, value] = VARIABLES.exec(entry) ?? [];
    return name === undefined ? [] : [[name, value!.slice(0, 100)] as const];
  });
  const words = commandWithoutSecrets(zeroSeparated(files.read(`/proc/${pid}/cmdline`)));
  const command = words.join(' ') || stat.name;
  const torch =
    /(\/.*)\/torch\/lib\/libtorch[^/\n]*\.so/.exec(files.read(`/proc/${pid}/maps`) ?? '')?.[1] ?? null;
  return {
    pid,
    parent: stat.parent,
    command: command.slice(0, MAX_COMMAND),
    torch: torch !== null,
    torchVersion: torch && torchVersion(files, torch),
    gpu: open.length === 0 ? null : open.some((target) => GPU_DEVICE.test(target)),
    environment: Object.fromEntries(variables),
  };
}

const torchVersion = (files: MachineFiles, packages: string): string | null =>
  /__version__ = ['"]([\w.+-]{1,40})['"]/.exec(files.read(`${packages}/torch/version.py`) ?? '')?.[1] ?? null;

/** One process at this moment. Null: it has ended. */
export function sampleProcess(files: MachineFiles, pid: number): ProcessSample | null {
  const at = `/proc/${pid}`;
  const stat = parseStat(files.read(`${at}/stat`) ?? '');
  if (stat === null) return null;
  const ids = files
    .list(`${at}/task`)
    .map(Number)
    .sort((a, b) => Number(b === pid) - Number(a === pid) || a - b);
  const threads = ids.slice(0, MAX_THREADS).flatMap((id) => {
    const own = parseStat(files.read(`${at}/task/${id}/stat`) ?? '');
    return own === null ? [] : [threadOf(id, own, files.read(`${at}/task/${id}/schedstat`))];
  });
  const io = parseFields(files.read(`${at}/io`));
  const status = parseFields(files.read(`${at}/status`));
  const waitsIn = files.read(`${at}/wchan`)?.trim() ?? '';
  return {
    pid,
    readChars: io.get('rchar') ?? null,
    readBytes: io.get('read_bytes') ?? null,
    majorFaults: stat.majorFaults,
    swappedBytes: status.get('VmSwap') ?? null,
    residentBytes: status.get('VmRSS') ?? null,
    voluntarySwitches: status.get('voluntary_ctxt_switches') ?? null,
    involuntarySwitches: status.get('nonvoluntary_ctxt_switches') ?? null,
    waitsIn: waitsIn === '' || waitsIn === '0' ? null : waitsIn,
    threads: threads.length > 0 ? threads : [threadOf(pid, stat, null)],
  };
}
