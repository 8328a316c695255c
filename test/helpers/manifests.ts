import type { Problem } from '../../src/base/problem.js';
import type { Manifest } from '../../src/model/manifest.js';
import { manifestReader } from '../../src/readers/manifest/descriptor.js';
import { readCut } from './readers.js';

/** For the tests of this folder: reads a text or bytes in chunks, cut at the given positions. */
export function read(
  input: string | Uint8Array,
  cuts: readonly number[] = [],
): { manifest: Manifest | null; problems: readonly Problem[] } {
  const result = readCut(manifestReader, input, cuts);
  return result;
}

export const RUN = {
  whyslow: 1,
  run: 'r-1',
  world_size: 8,
  mesh: { axes: ['dp', 'tp'], sizes: [4, 2] },
  schedule: { record_every_n_steps: 10 },
  versions: { torch: '2.13.0', python: '3.12.3' },
  command: ['train.py', '--lr', '1e-4'],
  launch: ['torchrun', 'train.py', '--lr', '1e-4'],
  started_ns: 1_790_857_026_123_456_800,
};

export const RANK = {
  whyslow: 1,
  run: 'r-1',
  rank: 3,
  local_rank: 3,
  host: 'node-1',
  pid: 4711,
  launch: ['python', 'train.py'],
  device: {
    type: 'cuda',
    index: 3,
    name: 'NVIDIA H200',
    uuid: 'GPU-1A2B3C4D-0000-1111-2222-333344445555',
    pci_bus_id: '00000000:1A:00.0',
  },
  coordinates: { dp: 1, tp: 1 },
  anchors: [
    { at: 'start', wall_ns: 1_790_857_026e9, monotonic_ns: 5e15 },
    { at: 'end', wall_ns: 1_790_857_126e9, monotonic_ns: 5.0001e15 },
  ],
  overhead: { share: 0.002 },
  dropped: { 'disk-full': 4 },
  trace: {
    windows: [
      {
        first_step: 17,
        last_step: 19,
        detached: false,
        afterwards: { slower: true, change: { low: 0.36, likely: 0.4, high: 0.43 } },
      },
      { first_step: 117, last_step: null, status: 'failed' },
      { first_step: 217, last_step: 219, detached: null, afterwards: { slower: false, change: { low: 0 } } },
    ],
  },
  stacks: {
    samples: 80,
    seconds: 12.5,
    lines: [
      {
        file: 'train.py',
        line: 87,
        function: 'step',
        source: 'ema.mul_(d).add_(p)',
        samples: 33,
        calls: { 'torch._tensor.wrapped': 30 },
      },
    ],
  },
};
