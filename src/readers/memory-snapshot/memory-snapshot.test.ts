import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { damage, damaged, pickled } from '../../../test/helpers/pickles.js';
import { readCut } from '../../../test/helpers/readers.js';
import { findReader } from '../registry.js';
import { memorySnapshotReader } from './descriptor.js';

const PYTHON = [
  { name: 'forward', filename: '/job/model.py', line: 9 },
  { name: '_call_impl', filename: '/venv/lib/python3.11/site-packages/torch/nn/modules/module.py', line: 1 },
];
const ENGINE = [
  {
    name: 'torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor>&&)',
    filename: '??',
    line: 0,
  },
  { name: 'torch::autograd::Engine::thread_main(...)', filename: '??', line: 0 },
];
const event = (action: string, addr: number, size: number, frames: unknown = [], time_us = 0) => ({
  action,
  addr,
  size,
  frames,
  stream: 0,
  time_us,
});
const SNAPSHOT = {
  segments: [
    {
      device: 0,
      address: 4096,
      total_size: 2048,
      blocks: [
        { address: 4096, size: 512, requested_size: 400, state: 'active_allocated', frames: PYTHON },
        { address: 4608, size: 1536, requested_size: 0, state: 'inactive', frames: [] },
      ],
    },
  ],
  device_traces: [
    [
      event('segment_alloc', 4096, 2048, PYTHON),
      event('alloc', 4096, 400, PYTHON, 1e6),
      event('alloc', 4608, 600, ENGINE, 2e6),
      event('free_requested', 4608, 600),
      event('free_completed', 4608, 600),
      event('snapshot', 0, 0),
    ],
    [],
  ],
  allocator_settings: { expandable_segments: true },
};
const BYTES = pickled(SNAPSHOT);
const read = (bytes: Buffer, cuts: readonly number[] = []) => readCut(memorySnapshotReader, bytes, cuts);

describe('a memory snapshot', () => {
  it('gives the peak and its parts, wherever its bytes are cut', () => {
    const whole = read(BYTES);
    expect(whole.problems).toEqual([]);
    expect(whole.facts).toMatchObject([
      { device: 0, peak: 1000, expandableSegments: true, at: { allocated: 1000, reserved: 2048 } },
    ]);
    expect(whole.facts[0]!.at.parts.map((p) => [p.kind, p.bytes, p.lines[0]!.at])).toEqual([
      ['temporaries', 600, 'MulBackward0 in the backward pass'],
      ['activations', 400, 'job/model.py:9 in forward'],
    ]);
    for (let cut = 1; cut < BYTES.length; cut += 17) expect(read(BYTES, [cut]).facts).toEqual(whole.facts);
  });

  it('is recognized by what is in it', () => {
    expect(findReader(BYTES)?.id).toBe('memory-snapshot');
    expect(memorySnapshotReader.sniff(pickled({ entries: [], pg_config: {} }))).toBe(false);
    expect(memorySnapshotReader.sniff(Buffer.from('{"segments": []}'))).toBe(false);
  });

  it('reads what torch 2.0 wrote: frees in one event, blocks with a history', () => {
    const history = [{ real_size: 300, frames: PYTHON, addr: 4096 }];
    const { facts } = read(
      pickled({
        segments: [
          {
            device: 0,
            address: 4096,
            total_size: 1024,
            blocks: [{ size: 512, state: 'active_allocated', history }],
          },
        ],
        device_traces: [[event('alloc', 9000, 50, PYTHON), event('free', 9000, 50)]],
      }),
    );
    expect(facts).toMatchObject([{ peak: 350, expandableSegments: null }]);
  });

  it('that is empty says what to do', () => {
    const { facts, problems } = read(pickled({ segments: [], device_traces: [[]] }));
    expect(facts).toEqual([]);
    expect(problems).toMatchObject([
      { code: 'empty-snapshot', message: expect.stringMatching(/_record_memory_history/) },
    ]);
  });

  it('never throws and gives finite figures, whatever is in it', () => {
    const value = fc.oneof(fc.anything({ maxDepth: 2 }), fc.constantFrom(Number.NaN, -1, 1e308, 4096));
    const anyEvent = fc.record({
      action: fc.constantFrom<unknown>('alloc', 'free', 'oom', 7, { toString: 1, valueOf: 1 }),
      addr: value,
      size: value,
      frames: value,
      time_us: value,
    });
    const any = fc.record({
      segments: value,
      device_traces: fc.oneof(value, fc.array(fc.array(anyEvent))),
      allocator_settings: value,
    });
    const plain = (v: unknown): unknown =>
      JSON.parse(JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? 1 : x)) ?? 'null');
    fc.assert(
      fc.property(any, damage, (object, changes) => {
        for (const bytes of [pickled(plain(object)), damaged(BYTES, changes)])
          for (const { peak, at } of read(bytes).facts) {
            expect(Number.isFinite(peak) && peak >= 0).toBe(true);
            expect(Number.isFinite(at.reserved)).toBe(true);
          }
      }),
      { numRuns: 150 },
    );
  });
});
