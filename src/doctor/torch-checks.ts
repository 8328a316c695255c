import type { Probe } from '../machine/probe.js';
import { inOneLine, use } from '../remedies/remedies.js';
import { type Check, fail, pass, skip, warn } from './check.js';

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
