import type { GpuFields } from '../machine/probe.js';
import { inOneLine, use } from '../remedies/remedies.js';
import { FAR_BELOW_MAXIMUM } from '../telemetry/slow-gpu.js';
import { type Check, fail, type Outcome, pass, skip, tally, warn } from './check.js';

const NO_GPU = skip('no nvidia-smi that works');
/** `1980 MHz`, `[N/A]`. */
const figure = (gpu: GpuFields, field: string): number => Number.parseFloat(gpu[field] ?? '');
const named = (gpus: readonly GpuFields[]) => `GPU ${gpus.map((g) => g.index).join(', ')}`;

/** A check of all GPUs: `faulty` picks those that are not well. */
const gpuCheck = (id: string, title: string, judge: (gpus: readonly GpuFields[]) => Outcome): Check => ({
  id,
  title,
  async run(probe) {
    const gpus = await probe.gpus();
    return gpus === null || gpus.length === 0 ? NO_GPU : judge(gpus);
  },
});

/** Bits of `clocks_throttle_reasons.active` (nvml.h). Idle, application clocks and the power limit are normal. */
const REASONS = [
  [0x8, 'hardware slowdown'],
  [0x20, 'heat, by software'],
  [0x40, 'heat, by hardware'],
  [0x80, 'power brake'],
] as const;
const IDLE_BIT = 0x1;

export const GPU_CHECKS: readonly Check[] = [
  {
    id: 'gpu',
    title: 'GPUs',
    async run(probe) {
      const gpus = await probe.gpus();
      if (gpus === null)
        return skip('no nvidia-smi that works: a machine without NVIDIA GPUs, or without their driver');
      if (gpus.length === 0)
        return fail('nvidia-smi lists no GPU', 'Look at `nvidia-smi -L` and `dmesg | grep -i nvrm`.');
      return pass(`${tally(gpus.map((g) => g.name!))}, driver ${gpus[0]!.driver_version}`);
    },
  },
  gpuCheck('throttle', 'Throttling', (gpus) => {
    const held = gpus.flatMap((gpu) => {
      const bits = Number.parseInt(
        (gpu['clocks_throttle_reasons.active'] ?? '').slice(-8).replace(/^0x/i, ''),
        16,
      );
      const names = REASONS.filter(([bit]) => bits & bit).map(([, name]) => name);
      return names.length > 0 ? [`${named([gpu])}: ${names.join(', ')} at ${gpu['temperature.gpu']} °C`] : [];
    });
    return held.length === 0
      ? pass('no GPU is held down by heat or power brake')
      : fail(held.join('; '), inOneLine(use('unthrottle', { ofRank: true })));
  }),
  gpuCheck('clocks', 'GPU clocks', (gpus) => {
    const isBusy = (g: GpuFields) => figure(g, 'utilization.gpu') >= 80;
    const low = gpus.filter(
      (g) => isBusy(g) && figure(g, 'clocks.current.sm') < FAR_BELOW_MAXIMUM * figure(g, 'clocks.max.sm'),
    );
    const value = tally(
      gpus.map((g) => `${figure(g, 'clocks.current.sm')} of ${figure(g, 'clocks.max.sm')} MHz`),
    );
    if (low.length > 0)
      return warn(
        `${named(low)} busy at ${value}`,
        'Unlock the clocks (`nvidia-smi -rgc`), or see what holds them down.',
      );
    const locked = gpus.filter((g) => figure(g, 'power.limit') < 0.9 * figure(g, 'power.default_limit'));
    return locked.length === 0
      ? pass(gpus.some(isBusy) ? value : `${value}, idle now`)
      : warn(
          `${named(locked)}: power limit ${figure(locked[0]!, 'power.limit')} of ${figure(locked[0]!, 'power.default_limit')} W`,
          'The limit was lowered; the clock will follow it under load: `nvidia-smi -pl`.',
        );
  }),
  gpuCheck('persistence', 'Persistence mode', (gpus) => {
    const off = gpus.filter((g) => /disabled/i.test(g.persistence_mode ?? ''));
    return off.length === 0
      ? pass('on')
      : warn(
          `off on ${named(off)}`,
          'Each start of a job waits for the driver, up to seconds a GPU: `nvidia-smi -pm 1`.',
        );
  }),
  gpuCheck('pcie', 'PCIe link', (gpus) => {
    const width = (g: GpuFields, which: string) => figure(g, `pcie.link.width.${which}`);
    const generation = (g: GpuFields, which: string) => figure(g, `pcie.link.gen.${which}`);
    const end = (g: GpuFields, which: string) =>
      `gen ${g[`pcie.link.gen.${which}`]} ×${g[`pcie.link.width.${which}`]}`;
    const words = (g: GpuFields) => `${end(g, 'current')} of ${end(g, 'max')}`;
    const value = tally(gpus.map(words));
    const narrow = gpus.filter((g) => width(g, 'current') < width(g, 'max'));
    if (narrow.length > 0)
      return warn(
        `${named(narrow)}: ${words(narrow[0]!)}`,
        'The link runs with fewer lanes: reseat the card or move it to another slot.',
      );
    // An idle link saves power by going down a generation.
    const slow = gpus.filter((g) => generation(g, 'current') < generation(g, 'max') && isAtWork(g));
    return slow.length > 0
      ? warn(
          `${named(slow)}: ${words(slow[0]!)}`,
          'The link runs below its generation under load: check the BIOS and the slot.',
        )
      : pass(value);
  }),
  {
    id: 'nvlink',
    title: 'NVLink',
    async run(probe) {
      const gpus = await probe.gpus();
      if (gpus === null || gpus.length < 2) return skip(gpus === null ? NO_GPU.value : 'one GPU');
      const said = await probe.run('nvidia-smi', ['nvlink', '--status'], 15);
      const links = [...(said?.stdout ?? '').matchAll(/Link \d+: (.*)/g)].map(([, state]) => state!);
      if (links.length === 0) return skip('these GPUs have no NVLink: they talk over PCIe');
      const down = links.filter((state) => /inactive/i.test(state)).length;
      return down === 0
        ? pass(`${links.length} links up`)
        : fail(
            `${down} of ${links.length} links are down`,
            'Collectives go the slow way: `nvidia-smi nvlink --status`, then the fabric manager.',
          );
    },
  },
];

function isAtWork(gpu: GpuFields): boolean {
  const bits = Number.parseInt((gpu['clocks_throttle_reasons.active'] ?? '').slice(-8), 16);
  return figure(gpu, 'utilization.gpu') >= 50 && !(bits & IDLE_BIT);
}
