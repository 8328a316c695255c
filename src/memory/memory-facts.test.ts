import { describe, expect, it } from 'vitest';
import { MEMORY_ACTIONS, type MemorySnapshot, type MemoryStack } from '../model/memory-snapshot.js';
import { MEMORY_KINDS } from './kinds.js';
import { memoryFacts } from './memory-facts.js';

const frame = (text: string) => {
  const [, file, line, name] = /^(.*):(\d+) (.*)$/.exec(text)!;
  return { file: file!, line: Number(line), function: name!, isOwn: !file!.startsWith('torch/') };
};
const stack = (...frames: string[]): MemoryStack => ({
  frames: frames.map(frame),
  inBackward: false,
  accumulates: false,
  node: null,
});
const CALL = 'torch/nn/modules/module.py:1 _call_impl';
const STACKS = {
  model: stack('job/model.py:3 __init__'),
  forward: stack('job/model.py:9 forward', CALL),
  backward: { ...stack(), inBackward: true, node: 'MulBackward0' },
  gradient: { ...stack(), inBackward: true, accumulates: true },
  adam: stack(
    'torch/optim/adam.py:5 _init_group',
    'torch/optim/optimizer.py:2 wrapper',
    'job/train.py:7 main',
  ),
} satisfies Record<string, MemoryStack>;
type Where = keyof typeof STACKS;

/** `+a 100 forward` allocates, `-a` frees, `reserve 500`, `oom 900`. */
function snapshot(text: string, end: Partial<MemorySnapshot['devices'][number]> = {}): MemorySnapshot {
  const names = new Map<string, number>();
  const sizes = new Map<string, number>();
  const rows = text
    .trim()
    .split(/\s*[;\n]\s*/)
    .map((row) => {
      const [what = '', bytes = '0', where = ''] = row.split(' ');
      const name = what.slice(1);
      const isNamed = /^[+-]/.test(what);
      if (isNamed && !names.has(name)) names.set(name, 1000 * (names.size + 1));
      if (what[0] === '+') sizes.set(name, Number(bytes));
      const action = what[0] === '+' ? 'alloc' : what[0] === '-' ? 'free' : what;
      return {
        action: MEMORY_ACTIONS.indexOf(action as 'alloc'),
        address: isNamed ? names.get(name)! : Number.NaN,
        size: what[0] === '-' ? (sizes.get(name) ?? Number(bytes)) : Number(bytes),
        stack: Object.keys(STACKS).indexOf(where as Where),
      };
    });
  return {
    devices: [
      {
        device: 0,
        action: Uint8Array.from(rows, (r) => r.action),
        address: Float64Array.from(rows, (r) => r.address),
        size: Float64Array.from(rows, (r) => r.size),
        timeUs: Float64Array.from(rows, (_, i) => 1e6 * i),
        stack: Int32Array.from(rows, (r) => r.stack),
        segments: [],
        ...end,
      },
    ],
    stacks: Object.values(STACKS),
    expandableSegments: false,
  };
}
const facts = (text: string, end = {}) => memoryFacts(snapshot(text, end))[0]!;
const parts = (text: string) => Object.fromEntries(facts(text).at.parts.map((p) => [p.kind, p.bytes]));

/** One training step: 40 bytes of activations per layer, a loss, gradients, and Adam's state in the first. */
const step = (n: number, more = '') =>
  `
  +x${n} 40 forward; +t${n} 5 forward; -t${n}; +y${n} 40 forward ${more}
  +g${n} 30 backward; -y${n}; -g${n}; +p${n} 100 gradient; -x${n}
  ${n === 1 ? '+m 200 adam' : ''}; +u${n} 7 adam; -u${n}; -p${n}`.replace(/;\s*;/g, ';');

describe('the kind of an allocation follows from where it was made and how long it lived', () => {
  it('at the peak, where the parts add up', () => {
    const one = facts(`+w 100 model; ${step(1)}; ${step(2)}`);
    expect(one.peak).toBe(440);
    expect(one.at.allocated).toBe(440);
    expect(parts(`+w 100 model; ${step(1)}; ${step(2)}`)).toEqual({
      parameters: 100,
      'optimizer state': 200,
      gradients: 100,
      activations: 40,
    });
    expect(one.at.parts.find((p) => p.kind === 'activations')!.lines).toEqual([
      { at: 'job/model.py:9 in forward', bytes: 40, count: 1 },
    ]);
    expect(one.steps).toBe(2);
  });

  it('is unknown if it was made before the recording: frees and blocks still show it', () => {
    const block = { address: 77, size: 512, requested: 300, isInUse: true, stack: -1 };
    const one = facts('-old 50; +x 40 forward', {
      segments: [{ size: 1000, blocks: [block, { ...block, address: 99, isInUse: false }] }],
    });
    expect(one.peak).toBe(350);
    expect(one.at).toMatchObject({
      allocated: 350,
      reserved: 1000,
      parts: [{ kind: 'from before the recording', bytes: 350, count: 2 }],
    });
  });

  it('is that of a parameter if the optimizer makes parameters anew', () => {
    const steps = [1, 2].map(
      (n) =>
        `+x${n} 40 forward; +p${n} 100 gradient; -x${n}; +s${n} 100 adam; +w${n} 100 adam; -w${n - 1}; -p${n}`,
    );
    expect(parts(`+w0 100 model; ${steps.join('; ')}; +x3 400 forward`)).toEqual({
      parameters: 100,
      'optimizer state': 200,
      activations: 400,
    });
  });

  it('is kept when a step ends before the activation is freed', () => {
    const held = parts(`${step(1, '; +k 500 forward')}; ${step(2)}; -k`);
    expect(held['kept from earlier steps']).toBe(500);
  });

  it('is an activation in a forward pass that nothing follows', () => {
    expect(parts('+w 10 model; +a 5 forward; +b 6 forward; -a; -b')).toEqual({
      parameters: 10,
      activations: 11,
    });
  });
});

describe('memory that grows', () => {
  const job = (kept: (n: number) => string) =>
    facts(`+w 100 model; ${Array.from({ length: 7 }, (_, i) => step(i + 1, kept(i + 1))).join('; ')}`);

  it('is what every step makes and no later step frees', () => {
    expect(job((n) => `; +k${n} 11 forward`).growth).toEqual([
      { at: 'job/model.py:9 in forward', bytesPerStep: 11, steps: 4 },
    ]);
  });

  it('is not what a single step keeps, or what lives one step longer', () => {
    expect(job((n) => (n === 3 ? '; +k 11 forward' : '')).growth).toEqual([]);
    expect(job((n) => `; +k${n} 11 forward ${n > 1 ? `; -k${n - 1}` : ''}`).growth).toEqual([]);
  });
});

describe('an allocation that failed', () => {
  it('is judged at its moment: enough was reserved, but in pieces', () => {
    const one = facts('reserve 1000; +a 400 forward; -a; +b 100 forward; oom 700 forward; -b', {
      segments: [{ size: 1000, blocks: [] }],
    });
    expect(one.oom).toEqual({
      asked: 700,
      deviceFree: null,
      at: 'job/model.py:9 in forward',
      isFragmented: true,
    });
    expect(one.at).toMatchObject({ allocated: 100, reserved: 1000 });
    expect(one.peak).toBe(400);
    const full = facts('reserve 600; +a 500 forward; oom 200 forward', {
      segments: [{ size: 600, blocks: [] }],
    });
    expect(full.oom!.isFragmented).toBe(false);
  });
});

describe('memory over time', () => {
  it('has the same peak, and what was reserved, counted back from the end', () => {
    const one = facts('reserve 100; +a 60 forward; reserve 100; +b 90 forward; -a; release 50; -b', {
      segments: [{ size: 150, blocks: [] }],
    });
    const sums = one.overTime.seconds.map((_, i) => one.overTime.kinds.reduce((sum, k) => sum + k[i]!, 0));
    expect(Math.max(...sums)).toBe(one.peak);
    expect(one.overTime.kinds).toHaveLength(MEMORY_KINDS.length);
    expect(Math.max(...one.overTime.reserved)).toBe(200);
    expect(one.at.reserved).toBe(200);
  });

  it('is bounded for any number of events', () => {
    const many = Array.from({ length: 4000 }, (_, i) => `+a${i} 1 forward${i % 2 ? `; -a${i}` : ''}`).join(
      '; ',
    );
    expect(facts(many).overTime.seconds.length).toBeLessThanOrEqual(300);
  });
});
