import { smallest } from '../base/statistics.js';
import type { MachineFiles } from './files.js';
import { parseFields } from './proc-text.js';

/** The CPU limit of a process's cgroup, version 1 or 2, as seen from inside a container or outside. */
export interface CpuLimit {
  /** CPUs; null: no limit. */
  readonly quota: number | null;
  /** Counters of `cpu.stat`. Null: not known. */
  readonly throttled: number | null;
  readonly periods: number | null;
  readonly throttledPeriods: number | null;
}

export function readCpuLimit(files: MachineFiles, pid: number | 'self'): CpuLimit {
  const folders = cgroupFolders(files, pid, 'cpu');
  // The tightest limit on the way up counts.
  const limits = folders.map((folder) => ({ folder, quota: quotaOf(files, folder) }));
  const tightest = limits
    .filter(({ quota }) => quota !== null)
    .sort((a, b) => a.quota! - b.quota!)
    .at(0);
  const stat = parseFields(tightest ? files.read(`${tightest.folder}/cpu.stat`) : null);
  const micros = stat.get('throttled_usec');
  const nanos = stat.get('throttled_time');
  return {
    quota: tightest?.quota ?? null,
    throttled: micros !== undefined ? micros / 1e6 : nanos !== undefined ? nanos / 1e9 : null,
    periods: stat.get('nr_periods') ?? null,
    throttledPeriods: stat.get('nr_throttled') ?? null,
  };
}

/** Bytes that the processes of a cgroup may still take, before the kernel ends one of them. Null: no limit. */
export function readMemoryLeft(files: MachineFiles, pid: number | 'self'): number | null {
  const left = cgroupFolders(files, pid, 'memory').flatMap((folder) => {
    const read = (name: string) => Number.parseInt(files.read(`${folder}/${name}`) ?? '', 10);
    const isSecond = !Number.isNaN(read('memory.max'));
    const [limit, used] = isSecond
      ? [read('memory.max'), read('memory.current')]
      : [read('memory.limit_in_bytes'), read('memory.usage_in_bytes')];
    if (!(limit > 0 && limit < NO_LIMIT && used >= 0)) return [];
    const stat = parseFields(files.read(`${folder}/memory.stat`));
    // Pages of files that nobody uses are given back.
    const free = stat.get(isSecond ? 'inactive_file' : 'total_inactive_file') ?? 0;
    return [Math.max(0, limit - Math.max(0, used - free))];
  });
  return left.length > 0 ? smallest(left) : null;
}

/** Version 1 writes the largest number of pages when there is no limit. */
const NO_LIMIT = 2 ** 60;

const MOUNTS = {
  cpu: ['/sys/fs/cgroup', '/sys/fs/cgroup/unified', '/sys/fs/cgroup/cpu', '/sys/fs/cgroup/cpu,cpuacct'],
  memory: ['/sys/fs/cgroup', '/sys/fs/cgroup/unified', '/sys/fs/cgroup/memory'],
} as const;

/** Folders that may hold the limit: its own and those above. In a container its own path may not exist; the root then is it. */
function cgroupFolders(files: MachineFiles, pid: number | 'self', controller: keyof typeof MOUNTS): string[] {
  const lines = (files.read(`/proc/${pid}/cgroup`) ?? '').split('\n');
  const paths = lines.flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    const isOf = controllers === '' || controllers?.split(',').includes(controller);
    return path !== undefined && isOf ? [path] : [];
  });
  const folders = new Set<string>();
  for (const path of paths) {
    const parts = path.split('/').filter(Boolean);
    for (let depth = parts.length; depth >= 0; depth--)
      for (const mount of MOUNTS[controller]) folders.add([mount, ...parts.slice(0, depth)].join('/'));
  }
  return [...folders];
}

/** `cpu.max` is `150000 100000` or `max 100000`; version 1 has two files and −1 for no limit. */
function quotaOf(files: MachineFiles, folder: string): number | null {
  const [, granted, period] = /^(\d+) (\d+)/.exec(files.read(`${folder}/cpu.max`) ?? '') ?? [];
  if (granted !== undefined) return Number(granted) / Number(period);
  const quota = Number(files.read(`${folder}/cpu.cfs_quota_us`) ?? -1);
  const per = Number(files.read(`${folder}/cpu.cfs_period_us`) ?? 0);
  return quota > 0 && per > 0 ? quota / per : null;
}
