import { bytes, formatBytes, formatCount } from '../base/units.js';
import { parseFields } from '../machine/proc-text.js';
import { inOneLine, use } from '../remedies/remedies.js';
import { type Check, pass, skip, warn } from './check.js';

/** Bytes of shared memory that a worker may need: a few prefetched batches of about 50 MB each. */
const SHM_PER_WORKER = 200e6;
/** Docker's default, which DataLoader workers run out of. */
const SHM_LEAST = 1e9;
/** Open files: DataLoader workers pass tensors by file descriptor. */
const LEAST_FILES = 4096;

const size = (n: number) => formatBytes(bytes(n));

export const HOST_CHECKS: readonly Check[] = [
  {
    id: 'cpu-quota',
    title: 'CPUs',
    async run({ cores, quota, cpus }) {
      if (quota === null || quota >= cores) return pass(formatCount(cores, 'CPU'));
      return warn(
        `${cpus.toFixed(1)} CPUs by cgroup quota, ${cores} visible`,
        `Programs size themselves by the ${cores} they see: set OMP_NUM_THREADS, and use at most ${Math.max(1, Math.floor(cpus) - 1)} DataLoader workers.`,
      );
    },
  },
  {
    id: 'threads',
    title: 'Threads',
    async run(probe) {
      const gpus = (await probe.gpus())?.length ?? 0;
      const ranks = Math.max(1, gpus);
      const fair = Math.max(1, Math.floor(probe.cpus / ranks));
      const set = (['OMP_NUM_THREADS', 'MKL_NUM_THREADS'] as const).filter(
        (name) => probe.env[name] !== undefined,
      );
      const over = set.filter((name) => Number(probe.env[name]) > probe.cpus);
      if (over.length > 0)
        return warn(
          over.map((name) => `${name}=${probe.env[name]}`).join(', '),
          `More threads than the ${probe.cpus.toFixed(0)} CPUs hinder each other. ${inOneLine(use('omp-threads', { threads: fair }))}`,
        );
      const value =
        set.length > 0 ? set.map((n) => `${n}=${probe.env[n]}`).join(', ') : 'OMP_NUM_THREADS is not set';
      const isCut = probe.quota !== null && probe.quota < probe.cores;
      return set.length === 0 && (isCut || ranks > 1)
        ? warn(
            value,
            `Each process then starts ${probe.cores} threads. ${inOneLine(use('omp-threads', { threads: fair }))}`,
          )
        : pass(value);
    },
  },
  {
    id: 'numa',
    title: 'NUMA',
    async run(probe) {
      const nodes = probe.files.list('/sys/devices/system/node').filter((name) => /^node\d+$/.test(name));
      if (nodes.length < 2) return pass('one node');
      const cpus = nodes.map(
        (node) => probe.files.read(`/sys/devices/system/node/${node}/cpulist`)?.trim() ?? '',
      );
      const own =
        /^Cpus_allowed_list:\s*(\S+)/m.exec(probe.files.read(`/proc/${probe.pid}/status`) ?? '')?.[1] ?? '';
      if (cpus.includes(own)) return pass(`bound to one of ${nodes.length} nodes`);
      const gpus = await probe.gpus();
      const value = `${nodes.length} nodes, not bound`;
      return gpus === null || gpus.length === 0 ? pass(value) : warn(value, inOneLine(use('numa-binding')));
    },
  },
  {
    id: 'shm',
    title: '/dev/shm',
    async run(probe) {
      const found = await probe.sizeOf('/dev/shm');
      if (found === null) return warn('not there', 'DataLoader workers pass batches through it.');
      const workers = Math.max(1, Math.floor(probe.cpus) - 1);
      const value = `${size(found.size)}, ${size(found.free)} free`;
      if (found.free >= Math.max(SHM_LEAST, workers * SHM_PER_WORKER)) return pass(value);
      return warn(
        `${value}, for up to ${formatCount(workers, 'worker')}`,
        'Workers end with a bus error when it is full: `docker run --shm-size=16g`, or `--ipc=host`.',
      );
    },
  },
  {
    id: 'ulimits',
    title: 'Limits',
    async run({ files, pid }) {
      const text = files.read(`/proc/${pid}/limits`);
      const limit = (name: string) => new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(text ?? '')?.[1];
      const open = limit('Max open files');
      if (open === undefined) return skip('not readable');
      const locked = limit('Max locked memory');
      const value = `open files ${open}, locked memory ${locked === 'unlimited' ? locked : size(Number(locked))}`;
      const advice = [
        ...(open !== 'unlimited' && Number(open) < LEAST_FILES
          ? ['`ulimit -n 65536`: workers pass tensors as open files.']
          : []),
        // Verbs devices pin memory that the limit counts.
        ...(files.list('/sys/class/infiniband').length > 0 && locked !== 'unlimited'
          ? ['`ulimit -l unlimited`: InfiniBand needs locked memory.']
          : []),
      ];
      return advice.length > 0 ? warn(value, advice.join(' ')) : pass(value);
    },
  },
  {
    id: 'huge-pages',
    title: 'Transparent huge pages',
    async run({ files }) {
      const chosen = (name: string) =>
        /\[(\w+(?:\+\w+)*)\]/.exec(files.read(`/sys/kernel/mm/transparent_hugepage/${name}`) ?? '')?.[1];
      const enabled = chosen('enabled');
      if (enabled === undefined) return skip('not readable');
      const value = `${enabled}, defrag ${chosen('defrag') ?? '?'}`;
      if (enabled === 'always' && chosen('defrag') === 'always')
        return warn(
          value,
          'Allocations may stop to compact memory: echo madvise > /sys/kernel/mm/transparent_hugepage/defrag.',
        );
      return enabled === 'never'
        ? warn(
            value,
            'Large tensors in host memory cost more page faults: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled.',
          )
        : pass(value);
    },
  },
  {
    id: 'swap',
    title: 'Swap',
    async run({ files }) {
      const memory = parseFields(files.read('/proc/meminfo'));
      const total = memory.get('SwapTotal');
      if (total === undefined) return skip('not readable');
      const used = total - (memory.get('SwapFree') ?? total);
      const free = memory.get('MemAvailable') ?? 0;
      const value = total === 0 ? 'none' : `${size(used)} of ${size(total)} used`;
      const advice = 'A job whose pages are in swap stalls: free memory, then `swapoff -a && swapon -a`.';
      return used > 0.1 * total && used > 1e9
        ? warn(`${value}, ${size(free)} of memory available`, advice)
        : pass(value);
    },
  },
];
