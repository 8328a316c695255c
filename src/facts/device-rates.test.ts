import { describe, expect, it } from 'vitest';
import { capabilities, findDevice } from './device-rates.js';

const GiB = 2 ** 30;

describe('findDevice', () => {
  it.each([
    ['NVIDIA H200', 150109880320, 'H200'],
    ['NVIDIA H200 NVL', null, 'H200 NVL'],
    ['NVIDIA H100 80GB HBM3', 85018279936, 'H100 SXM'],
    ['NVIDIA H100 PCIe', null, 'H100 PCIe'],
    ['NVIDIA H100 NVL', null, 'H100 NVL'],
    ['NVIDIA GH200 480GB', 96 * GiB, 'GH200 96GB'],
    ['NVIDIA GH200 144G HBM3e', null, 'GH200 144GB'],
    ['NVIDIA H20', null, 'H20'],
    ['NVIDIA B100', null, 'B100'],
    ['NVIDIA B200', 191503138816, 'B200'],
    ['NVIDIA GB200', null, 'GB200'],
    ['NVIDIA B300 SXM6 AC', null, 'B300'],
    ['NVIDIA GB300', null, 'GB300'],
    ['NVIDIA A100-SXM4-40GB', null, 'A100 SXM 40GB'],
    ['NVIDIA A100-SXM4-80GB', 84990623744, 'A100 SXM 80GB'],
    ['A100-SXM4-40GB', null, 'A100 SXM 40GB'],
    ['NVIDIA A100-PCIE-40GB', null, 'A100 PCIe 40GB'],
    ['NVIDIA A100 80GB PCIe', null, 'A100 PCIe 80GB'],
    ['NVIDIA A100-PG509-200', 42505273344, 'A100 SXM 40GB'],
    ['Tesla V100-SXM2-16GB', 16945512448, 'V100 SXM2 16GB'],
    ['Tesla V100-DGXS-32GB', 34084028416, 'V100 SXM2 32GB'],
    ['Tesla V100-PCIE-32GB', null, 'V100 PCIe 32GB'],
    ['Tesla V100S-PCIE-32GB', null, 'V100S PCIe'],
    ['Tesla T4', null, 'T4'],
    ['NVIDIA A10', null, 'A10'],
    ['NVIDIA A10G', null, 'A10G'],
    ['NVIDIA A30', null, 'A30'],
    ['NVIDIA A40', null, 'A40'],
    ['NVIDIA RTX A6000', null, 'RTX A6000'],
    ['NVIDIA L4', null, 'L4'],
    ['NVIDIA L40', null, 'L40'],
    ['NVIDIA L40S', null, 'L40S'],
    ['NVIDIA RTX 6000 Ada Generation', null, 'RTX 6000 Ada'],
    ['NVIDIA GeForce RTX 3090', null, 'GeForce RTX 3090'],
    ['NVIDIA GeForce RTX 4090', null, 'GeForce RTX 4090'],
    ['NVIDIA GeForce RTX 5090', null, 'GeForce RTX 5090'],
    ['AMD Instinct MI210', null, 'MI210'],
    ['AMD Instinct MI250X', null, 'MI250X (one GCD)'],
    ['AMD Instinct MI250X/MI250', null, 'MI250 (one GCD)'],
    ['AMD Instinct MI300X', null, 'MI300X'],
    ['AMD Instinct MI300X VF', null, 'MI300X'],
    ['AMD Instinct MI325X', null, 'MI325X'],
    ['AMD Instinct MI355X', null, 'MI355X'],
  ])('%s is %s bytes of %s', (name, memory, expected) => {
    expect(findDevice(name, memory)?.name).toBe(expected);
  });

  it.each([
    '',
    'AMD Radeon Graphics',
    'NVIDIA GeForce RTX 3090 Ti',
    'NVIDIA GeForce RTX 4090 Laptop GPU',
    'NVIDIA A100-SXM4-40GB MIG 3g.20gb',
    'NVIDIA A10-4Q',
    'NVIDIA A100-PG509-200',
    'Quadro RTX 8000',
  ])('makes no guess for %j', (name) => {
    expect(findDevice(name)).toBeNull();
  });

  it('states dense rates: fp8 at most twice bf16, which is twice tf32', () => {
    const h200 = findDevice('NVIDIA H200');
    expect(h200).toMatchObject({ memoryGBps: 4800, memoryGiB: 141, hostLinkGBps: 63 });
    expect(h200?.tflops).toEqual({
      fp64: 67,
      fp32: 67,
      tf32: 494.5,
      fp16: 989.5,
      bf16: 989.5,
      fp8: 1979,
      int8: 1979,
    });
    expect(findDevice('Tesla V100-SXM2-16GB')?.tflops).toEqual({ fp64: 7.8, fp32: 15.7, fp16: 125 });
  });

  it.each(['NVIDIA H100 80GB HBM3', 'NVIDIA B200', 'NVIDIA GB300', 'NVIDIA L40S', 'AMD Instinct MI300X'])(
    'has rates of %s that fit each other',
    (name) => {
      const { fp32, tf32, bf16, fp8 } = findDevice(name)!.tflops;
      expect(bf16! / tf32!).toBeCloseTo(2, 1);
      expect(fp8! / bf16!).toBeCloseTo(2, 1);
      expect(fp32!).toBeLessThan(tf32!);
    },
  );
});

describe('capabilities', () => {
  it.each([
    ['Tesla V100-SXM2-16GB', 7, 0, { hasTensorCores: true, hasTf32: false, hasBf16: false }],
    ['NVIDIA A100-PG509-200', 8, 0, { hasTensorCores: true, hasTf32: true, hasBf16: true }],
    ['NVIDIA L4', 8, 9, { hasTensorCores: true, hasTf32: true, hasBf16: true }],
    ['a device of tomorrow', 13, 0, { hasTensorCores: true, hasTf32: true, hasBf16: true }],
    ['Tesla P100', 6, 0, { hasTensorCores: false, hasTf32: false, hasBf16: false }],
    ['AMD Instinct MI300X', 9, 4, { hasTensorCores: true, hasTf32: true, hasBf16: true }],
    ['AMD Instinct MI355X', 9, 5, { hasTensorCores: true, hasTf32: false, hasBf16: true }],
    ['AMD Radeon Graphics', 9, 0, { hasTensorCores: null, hasTf32: null, hasBf16: null }],
    ['NVIDIA H200', null, null, { hasTensorCores: null, hasTf32: null, hasBf16: null }],
  ])('capabilities of %s', (name, major, minor, expected) => {
    expect(capabilities(name, major, minor)).toEqual(expected);
  });
});
