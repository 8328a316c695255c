import type { Probe } from '../machine/probe.js';
import { inOneLine, use } from '../remedies/remedies.js';
import { type Check, fail, type Outcome, pass, skip, warn } from './check.js';

interface Fault {
  readonly isFatal?: boolean;
  readonly text: string;
  readonly advice: string;
}

const isOn = (value: string | undefined) =>
  value !== undefined && /^(?:1|true|yes|on|y)$/i.test(value.trim());

export const ENVIRONMENT_CHECKS: readonly Check[] = [
  {
    id: 'nccl',
    title: 'NCCL',
    run: async (probe) => outcome(ncclFaults(probe), ncclWords(probe)),
  },
  {
    id: 'debug',
    title: 'Debugging aids',
    run: async ({ env }) => outcome(debugFaults(env), 'none is on'),
  },
];

function outcome(faults: readonly Fault[], well: string): Outcome {
  if (faults.length === 0) return pass(well);
  const judge = faults.some((f) => f.isFatal) ? fail : warn;
  return judge(faults.map((f) => f.text).join(', '), faults.map((f) => f.advice).join(' '));
}

function ncclWords({ env }: Probe): string {
  const set = Object.keys(env).filter((name) => name.startsWith('NCCL_'));
  return set.length === 0 ? 'no NCCL variable is set' : set.map((name) => `${name}=${env[name]}`).join(', ');
}

function ncclFaults({ env, files }: Probe): Fault[] {
  const off = (name: string, advice: string): Fault[] =>
    isOn(env[name]) ? [{ isFatal: true, text: `${name}=1`, advice }] : [];
  return [
    ...(/^(?:INFO|TRACE)/i.test(env.NCCL_DEBUG ?? '')
      ? [
          {
            text: `NCCL_DEBUG=${env.NCCL_DEBUG}`,
            advice:
              'Unset NCCL_DEBUG after debugging: it writes on every start and, with TRACE, on every call.',
          },
        ]
      : []),
    ...off(
      'NCCL_P2P_DISABLE',
      'Unset NCCL_P2P_DISABLE: GPUs of one machine otherwise copy through host memory.',
    ),
    ...off(
      'NCCL_SHM_DISABLE',
      'Unset NCCL_SHM_DISABLE: ranks of one machine otherwise talk over the network.',
    ),
    ...(files.list('/sys/class/infiniband').length > 0
      ? off('NCCL_IB_DISABLE', 'This machine has InfiniBand or RoCE: unset NCCL_IB_DISABLE.')
      : []),
    ...interfaceFaults(env.NCCL_SOCKET_IFNAME, files.list('/sys/class/net')),
  ];
}

/** `eth,ib`: prefixes; `=eth0`: exact names; `^docker`: all but these. */
function interfaceFaults(wanted: string | undefined, present: readonly string[]): Fault[] {
  if (!wanted || wanted.startsWith('^') || present.length === 0) return [];
  const isExact = wanted.startsWith('=');
  const names = wanted.replace(/^=/, '').split(',');
  const found = present.filter((own) =>
    names.some((name) => (isExact ? own === name : own.startsWith(name))),
  );
  const text = `NCCL_SOCKET_IFNAME=${wanted}`;
  if (found.length === 0)
    return [{ isFatal: true, text, advice: `There is no such interface; there are ${present.join(', ')}.` }];
  return found.every((name) => /^(?:lo|docker|veth|virbr)/.test(name))
    ? [
        {
          text,
          advice: 'That interface does not leave this machine: ranks elsewhere cannot be reached through it.',
        },
      ]
    : [];
}

function debugFaults(env: Probe['env']): Fault[] {
  const on = (name: string, advice: string, isFatal = false): Fault[] =>
    isOn(env[name]) ? [{ isFatal, text: `${name}=${env[name]}`, advice }] : [];
  return [
    ...on('CUDA_LAUNCH_BLOCKING', inOneLine(use('async-launches')), true),
    ...on('PYTHONDEVMODE', 'Unset PYTHONDEVMODE.'),
    ...on(
      'PYTORCH_NO_CUDA_MEMORY_CACHING',
      'Unset PYTORCH_NO_CUDA_MEMORY_CACHING: every tensor calls cudaMalloc.',
      true,
    ),
    ...(/^DETAIL$/i.test(env.TORCH_DISTRIBUTED_DEBUG ?? '')
      ? [
          {
            text: 'TORCH_DISTRIBUTED_DEBUG=DETAIL',
            advice: 'Unset it: every collective is checked against all ranks.',
          },
        ]
      : []),
    ...(env.TORCH_LOGS
      ? [{ text: `TORCH_LOGS=${env.TORCH_LOGS}`, advice: 'Unset TORCH_LOGS after debugging.' }]
      : []),
  ];
}

/** The newest CUDA that the driver serves, as nvidia-smi prints it in its first lines. */
async function driverCuda(probe: Probe): Promise<number | null> {
  const said = await probe.run('nvidia-smi', [], 15);
  const version = /CUDA Version:\s*(\d+\.\d+)/.exec(said?.stdout ?? '')?.[1];
  return version === undefined ? null : Number(version);
}

/** TF32 and bfloat16 need it. */
const AMPERE = 8;

export const TORCH_CHECKS: readonly Check[] = [
  {
    id: 'torch',
    title: 'torch and driver',
    async run(probe) {
      const [torch, gpus] = await Promise.all([probe.torch(), probe.gpus()]);
      if (typeof torch === 'string') return skip(`${torch}; name another with --python`);
      const built = torch.cuda ? `CUDA ${torch.cuda}` : torch.hip ? `ROCm ${torch.hip}` : 'CPU';
      const value = `torch ${torch.version} for ${built}`;
      if (gpus === null || gpus.length === 0)
        return pass(torch.available ? `${value}, GPU available` : value);
      if (torch.cuda === null)
        return fail(
          `${value}, on a machine with NVIDIA GPUs`,
          'Install a torch build with CUDA (pytorch.org/get-started).',
        );
      const served = await driverCuda(probe);
      const cuda = Number(torch.cuda.split('.').slice(0, 2).join('.'));
      if (!torch.available)
        return fail(
          `${value}; the driver serves CUDA ${served ?? '?'}; torch finds no GPU`,
          served !== null && Math.floor(cuda) > Math.floor(served)
            ? 'The driver is older than torch’s CUDA: update it, or install torch for an older CUDA.'
            : 'Look at CUDA_VISIBLE_DEVICES, and at `python -c "import torch; torch.cuda.init()"`.',
        );
      const own = torch.capability && `sm_${torch.capability.join('')}`;
      if (own && torch.architectures.length > 0 && !isServed(torch.capability, torch.architectures))
        return fail(`${value} has no kernels for ${own}`, 'Install a torch build that knows this GPU.');
      return pass(`${value}; the driver serves CUDA ${served ?? '?'}`);
    },
  },
  {
    id: 'tf32',
    title: 'TF32',
    async run(probe) {
      const torch = await probe.torch();
      if (typeof torch === 'string') return skip(torch);
      if ((torch.capability?.[0] ?? 0) < AMPERE) return skip('needs an NVIDIA GPU from Ampere on');
      return torch.tf32
        ? pass('on for matrix products')
        : warn(
            'off for matrix products (torch’s default)',
            `This only matters for float32, which gets several times faster with slightly different results (T9). ${inOneLine(use('tf32'))}`,
          );
    },
  },
  {
    id: 'cudnn',
    title: 'cuDNN',
    async run(probe) {
      const torch = await probe.torch();
      if (typeof torch === 'string') return skip(torch);
      if (!torch.available) return skip('no GPU');
      if (torch.hip === null && torch.cudnn === null)
        return fail('not found', 'Convolutions run without cuDNN: reinstall torch.');
      const version = torch.cudnn === null ? 'MIOpen' : `cuDNN ${torch.cudnn}`;
      return pass(
        `${version}, benchmark ${torch.cudnnBenchmark ? 'on' : 'off (torch’s default; T10 says when to turn it on)'}`,
      );
    },
  },
];

/** A GPU runs kernels of its own generation that are not newer than it, or compiles from PTX (`compute_…`). */
function isServed(capability: readonly [number, number] | null, architectures: readonly string[]): boolean {
  if (capability === null) return true;
  const [major, minor] = capability;
  return architectures.some((name) => {
    const [, kind, digits] = /^(sm|compute)_(\d{2,3})/.exec(name) ?? [];
    const version = Number(digits);
    const own = 10 * major + minor;
    return kind === 'compute' ? version <= own : Math.floor(version / 10) === major && version <= own;
  });
}
