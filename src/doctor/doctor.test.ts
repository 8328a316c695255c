import { describe, expect, it } from 'vitest';
import { fakeFiles } from '../../test/helpers/machine.js';
import type { RunCommand } from '../machine/files.js';
import { type GpuFields, type Probe, queryGpus, type TorchFacts } from '../machine/probe.js';
import { examine, mountOf } from './examine.js';

const H200: GpuFields = {
  index: '0',
  name: 'NVIDIA H200',
  driver_version: '580.159.04',
  persistence_mode: 'Enabled',
  'temperature.gpu': '41',
  'clocks.current.sm': '1980 MHz',
  'clocks.max.sm': '1980 MHz',
  'utilization.gpu': '95 %',
  'power.limit': '700.00 W',
  'power.default_limit': '700.00 W',
  'pcie.link.gen.current': '5',
  'pcie.link.gen.max': '5',
  'pcie.link.width.current': '16',
  'pcie.link.width.max': '16',
  'clocks_throttle_reasons.active': '0x0000000000000004',
};
const TORCH: TorchFacts = {
  version: '2.11.0+cu130',
  cuda: '13.0',
  hip: null,
  cudnn: 91300,
  available: true,
  capability: [9, 0],
  architectures: ['sm_80', 'sm_90', 'compute_120'],
  tf32: true,
  tf32Convolutions: true,
  cudnnBenchmark: false,
  threads: 16,
};

interface Machine {
  readonly gpus?: readonly GpuFields[] | null;
  readonly torch?: TorchFacts | string;
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly said?: string;
  readonly cores?: number;
  readonly quota?: number | null;
  readonly data?: string | null;
  readonly readMs?: number;
  readonly shm?: number;
}

function probe(machine: Machine): Probe {
  const { cores = 16, quota = null } = machine;
  const run: RunCommand = async () => ({ code: 0, stdout: machine.said ?? 'CUDA Version: 13.0', stderr: '' });
  return {
    files: fakeFiles(machine.files ?? {}),
    run,
    env: machine.env ?? {},
    pid: 1,
    cores,
    quota,
    cpus: Math.min(cores, quota ?? cores),
    data: machine.data ?? null,
    gpus: async () => (machine.gpus === undefined ? [H200] : machine.gpus),
    torch: async () => machine.torch ?? TORCH,
    sizeOf: async () => ({ size: machine.shm ?? 6e10, free: machine.shm ?? 6e10 }),
    smallReads: async () =>
      machine.readMs === undefined
        ? null
        : { files: 9, medianMs: machine.readMs, filesPerSecond: 1000 / machine.readMs },
  };
}

const check = async (id: string, machine: Machine = {}) => {
  const { checks } = await examine(probe(machine));
  const { status, value, advice } = checks.find((c) => c.id === id)!;
  return { status, text: `${value} | ${advice ?? ''}` };
};

describe('doctor', () => {
  it('finds nothing wrong with a machine that is well', async () => {
    const { counts, checks } = await examine(probe({}));
    expect(checks.filter((c) => c.status === 'warn' || c.status === 'fail')).toEqual([]);
    expect(counts.pass).toBeGreaterThan(8);
    expect(new Set(checks.map((c) => c.id)).size).toBe(checks.length);
  });

  it('advises only where something is to be done', async () => {
    const { checks } = await examine(probe({ gpus: [{ ...H200, persistence_mode: 'Disabled' }], shm: 64e6 }));
    for (const { status, advice } of checks)
      expect(advice !== null).toBe(status === 'warn' || status === 'fail');
  });

  it.each<[string, string, string, Machine]>([
    [
      'throttle',
      'fail',
      'heat, by hardware at 41 °C',
      { gpus: [{ ...H200, 'clocks_throttle_reasons.active': '0x0000000000000040' }] },
    ],
    [
      'clocks',
      'warn',
      'GPU 0 busy at 1200 of 1980 MHz',
      { gpus: [{ ...H200, 'clocks.current.sm': '1200 MHz' }] },
    ],
    [
      'clocks',
      'pass',
      '345 of 1980 MHz, idle now',
      { gpus: [{ ...H200, 'clocks.current.sm': '345 MHz', 'utilization.gpu': '0 %' }] },
    ],
    ['clocks', 'warn', 'power limit 400 of 700 W', { gpus: [{ ...H200, 'power.limit': '400.00 W' }] }],
    ['persistence', 'warn', 'nvidia-smi -pm 1', { gpus: [{ ...H200, persistence_mode: 'Disabled' }] }],
    ['pcie', 'warn', 'gen 5 ×8 of gen 5 ×16', { gpus: [{ ...H200, 'pcie.link.width.current': '8' }] }],
    ['pcie', 'warn', 'below its generation', { gpus: [{ ...H200, 'pcie.link.gen.current': '3' }] }],
    [
      'pcie',
      'pass',
      'gen 1',
      { gpus: [{ ...H200, 'pcie.link.gen.current': '1', 'utilization.gpu': '0 %' }] },
    ],
    ['pcie', 'pass', '×[N/A] of', { gpus: [{ ...H200, 'pcie.link.width.current': '[N/A]' }] }],
    ['nvlink', 'skip', 'one GPU', {}],
    [
      'nvlink',
      'pass',
      '2 links up',
      { gpus: [H200, H200], said: 'GPU 0\n\t Link 0: 26.5 GB/s\n\t Link 1: 26.5 GB/s\n' },
    ],
    [
      'nvlink',
      'fail',
      '1 of 2 links',
      { gpus: [H200, H200], said: '\t Link 0: 26.5 GB/s\n\t Link 1: <inactive>\n' },
    ],
    ['gpu', 'skip', 'without NVIDIA GPUs', { gpus: null }],
    ['gpu', 'fail', 'lists no GPU', { gpus: [] }],
    ['torch', 'fail', 'with NVIDIA GPUs', { torch: { ...TORCH, cuda: null, version: '2.11.0+cpu' } }],
    [
      'torch',
      'fail',
      'older than torch’s CUDA',
      { torch: { ...TORCH, available: false }, said: 'CUDA Version: 12.4' },
    ],
    ['torch', 'fail', 'no kernels for sm_70', { torch: { ...TORCH, capability: [7, 0] } }],
    ['torch', 'pass', 'CUDA 13.0', { torch: { ...TORCH, capability: [12, 1] } }],
    ['torch', 'skip', 'has no torch', { torch: 'python has no torch' }],
    ['tf32', 'warn', 'set_float32_matmul_precision', { torch: { ...TORCH, tf32: false } }],
    ['tf32', 'skip', 'Ampere', { torch: { ...TORCH, tf32: false, capability: [7, 5] } }],
    ['cpu-quota', 'warn', '4.0 CPUs by cgroup quota, 64 visible', { cores: 64, quota: 4 }],
    [
      'threads',
      'warn',
      'OMP_NUM_THREADS=64 | More threads',
      { cores: 64, quota: 4, env: { OMP_NUM_THREADS: '64' } },
    ],
    ['threads', 'warn', 'OMP_NUM_THREADS=4.', { cores: 64, quota: 4 }],
    ['threads', 'warn', 'OMP_NUM_THREADS=8', { gpus: [H200, H200] }],
    ['threads', 'pass', 'OMP_NUM_THREADS=4', { env: { OMP_NUM_THREADS: '4' } }],
    ['shm', 'warn', '--shm-size', { shm: 64e6 }],
    ['nccl', 'fail', 'Unset NCCL_P2P_DISABLE', { env: { NCCL_P2P_DISABLE: '1' } }],
    ['nccl', 'warn', 'NCCL_DEBUG=INFO', { env: { NCCL_DEBUG: 'INFO' } }],
    ['nccl', 'pass', 'NCCL_DEBUG=WARN', { env: { NCCL_DEBUG: 'WARN' } }],
    [
      'nccl',
      'fail',
      'there are eth0, lo',
      {
        env: { NCCL_SOCKET_IFNAME: 'ens' },
        files: { '/sys/class/net/eth0/x': '', '/sys/class/net/lo/x': '' },
      },
    ],
    [
      'nccl',
      'warn',
      'does not leave this machine',
      { env: { NCCL_SOCKET_IFNAME: 'lo' }, files: { '/sys/class/net/lo/x': '' } },
    ],
    [
      'nccl',
      'pass',
      '^docker',
      { env: { NCCL_SOCKET_IFNAME: '^docker' }, files: { '/sys/class/net/lo/x': '' } },
    ],
    ['debug', 'fail', 'every launch waits', { env: { CUDA_LAUNCH_BLOCKING: '1' } }],
    ['debug', 'pass', 'none is on', { env: { CUDA_LAUNCH_BLOCKING: '0' } }],
    [
      'huge-pages',
      'warn',
      'never',
      { files: { '/sys/kernel/mm/transparent_hugepage/enabled': 'always madvise [never]' } },
    ],
    [
      'huge-pages',
      'pass',
      'madvise',
      { files: { '/sys/kernel/mm/transparent_hugepage/enabled': 'always [madvise] never' } },
    ],
    [
      'swap',
      'warn',
      '4.10 GB of 8.19 GB used',
      { files: { '/proc/meminfo': 'SwapTotal: 8000000 kB\nSwapFree: 4000000 kB\n' } },
    ],
    ['swap', 'pass', 'none', { files: { '/proc/meminfo': 'SwapTotal: 0 kB\nSwapFree: 0 kB\n' } }],
    [
      'ulimits',
      'warn',
      'ulimit -n',
      {
        files: {
          '/proc/1/limits':
            'Max open files            1024      1048576   files\nMax locked memory unlimited unlimited bytes\n',
        },
      },
    ],
    [
      'numa',
      'warn',
      'numactl',
      {
        files: {
          '/sys/devices/system/node/node0/cpulist': '0-7\n',
          '/sys/devices/system/node/node1/cpulist': '8-15\n',
          '/proc/1/status': 'Cpus_allowed_list:\t0-15\n',
        },
      },
    ],
    [
      'numa',
      'pass',
      'bound to one of 2',
      {
        files: {
          '/sys/devices/system/node/node0/cpulist': '0-7\n',
          '/sys/devices/system/node/node1/cpulist': '8-15\n',
          '/proc/1/status': 'Cpus_allowed_list:\t0-7\n',
        },
      },
    ],
    ['data-disk', 'skip', '--data', {}],
    [
      'data-disk',
      'warn',
      'a network file system',
      {
        data: '/mnt/set',
        files: {
          '/proc/self/mountinfo':
            '1 0 0:5 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /mnt rw,x shared:1 - nfs4 nas:/set rw\n',
        },
      },
    ],
    [
      'data-disk',
      'warn',
      'a rotating disk',
      {
        data: '/d',
        files: {
          '/proc/self/mountinfo': '1 0 8:1 / / rw - ext4 /dev/sda1 rw\n',
          '/sys/dev/block/8:1/../queue/rotational': '1\n',
        },
      },
    ],
    [
      'data-disk',
      'pass',
      'virtual disk',
      { data: '/d', files: { '/proc/self/mountinfo': '1 0 254:0 / / rw - ext4 /dev/vda rw\n' } },
    ],
    ['data-reads', 'fail', '12.00 ms per file', { data: '/d', readMs: 12 }],
    ['data-reads', 'warn', '4.00 ms per file', { data: '/d', readMs: 4 }],
    ['data-reads', 'pass', '0.10 ms per file', { data: '/d', readMs: 0.1 }],
  ])('%s: %s, %s', async (id, status, text, machine) => {
    const found = await check(id, machine);
    expect(found.text).toContain(text);
    expect(found.status).toBe(status);
  });

  it('goes on when a check fails', async () => {
    const broken = { id: 'x', title: 'X', run: () => Promise.reject(new Error('boom')) };
    expect((await examine(probe({}), [broken])).checks).toMatchObject([
      { status: 'skip', value: 'could not be checked: boom' },
    ]);
  });

  it('takes the mount with the longest path', () => {
    const text = '1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /data rw - xfs /dev/sdb rw\ngarbage\n';
    expect(mountOf(text, '/data/x')?.type).toBe('xfs');
    expect(mountOf(text, '/database')?.type).toBe('ext4');
    expect(mountOf('', '/data')).toBeNull();
  });

  it('takes nothing from an nvidia-smi that does not work', async () => {
    const said =
      (code: number, stdout: string): RunCommand =>
      async () => ({ code, stdout, stderr: '' });
    expect(await queryGpus(async () => null)).toBeNull();
    expect(await queryGpus(said(9, 'NVIDIA-SMI has failed'))).toBeNull();
    expect(await queryGpus(said(0, '\u0000\u0001binary,\n'))).toEqual([]);
  });
});
