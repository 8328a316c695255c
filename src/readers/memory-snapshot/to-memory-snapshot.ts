import type { ProblemLog } from '../../base/problem.js';
import {
  type DeviceMemory,
  MEMORY_ACTIONS,
  type MemoryBlock,
  type MemorySegment,
  type MemorySnapshot,
  type MemoryStack,
} from '../../model/memory-snapshot.js';
import type { StackFrame } from '../../model/stack-profile.js';
import { Fields, MAX_TEXT } from '../common/fields.js';
import { asObject, type JsonObject } from '../common/json-object.js';
import { isOwnFile } from '../common/own-code.js';

const MAX_DEVICES = 256;
/** Of all devices. A pickle may refer to the same list again and again, so its size bounds nothing. */
const MAX_EVENTS = 2_000_000;
const MAX_BLOCKS = 1_000_000;
/** Deeper ones are recursion. */
const MAX_FRAMES = 1024;
const KEPT_FRAMES = 48;

/** torch's names. Older versions wrote `free`; a free that was only requested still holds the memory. */
const ACTIONS: Readonly<Record<string, (typeof MEMORY_ACTIONS)[number]>> = {
  alloc: 'alloc',
  free: 'free',
  free_completed: 'free',
  segment_alloc: 'reserve',
  segment_map: 'reserve',
  segment_free: 'release',
  segment_unmap: 'release',
  oom: 'oom',
};

export function toMemorySnapshot(object: JsonObject, problems: ProblemLog): MemorySnapshot {
  const snapshot = new Fields(object, problems, 'the snapshot');
  const stacks = new Stacks();
  const traces = (snapshot.list('device_traces') ?? []).slice(0, MAX_DEVICES);
  const segments = segmentsByDevice(snapshot, stacks);
  const devices = Array.from({ length: MAX_DEVICES }, (_, device) => device).filter(
    (device) => segments.has(device) || (Array.isArray(traces[device]) && traces[device].length > 0),
  );
  const budget = { left: MAX_EVENTS };
  return {
    devices: devices.map((device) => ({
      device,
      ...eventsIn(snapshot, traces[device], stacks, budget),
      segments: segments.get(device) ?? [],
    })),
    stacks: stacks.all,
    expandableSegments: snapshot.inside('allocator_settings')?.flag('expandable_segments') ?? null,
  };
}

function eventsIn(
  snapshot: Fields,
  trace: unknown,
  stacks: Stacks,
  budget: { left: number },
): Omit<DeviceMemory, 'device' | 'segments'> {
  const given = Array.isArray(trace) ? trace : [];
  // The newest, as torch itself keeps them.
  const all = given.length > budget.left ? given.slice(given.length - budget.left) : given;
  budget.left -= all.length;
  snapshot.problems.add('too-many-entries', TOO_MANY, null, given.length - all.length);
  const [action, stack] = [new Uint8Array(all.length), new Int32Array(all.length)];
  const [address, size, timeUs] = [0, 0, 0].map(() => new Float64Array(all.length)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  let rows = 0;
  for (const value of all) {
    const event = asObject(value);
    const name = typeof event?.action === 'string' ? event.action : null;
    const kind = name !== null && Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (name === null) snapshot.wrong();
    if (!event || kind === undefined) continue;
    const bytes = positive(event.size);
    if (Number.isNaN(bytes)) {
      snapshot.wrong();
      continue;
    }
    action[rows] = MEMORY_ACTIONS.indexOf(kind);
    address[rows] = positive(kind === 'oom' ? (event.device_free ?? event.addr) : event.addr);
    size[rows] = bytes;
    timeUs[rows] = positive(event.time_us);
    stack[rows] = stacks.indexOf(event.frames);
    rows++;
  }
  return {
    action: action.slice(0, rows),
    address: address.slice(0, rows),
    size: size.slice(0, rows),
    timeUs: timeUs.slice(0, rows),
    stack: stack.slice(0, rows),
  };
}

/** Addresses and bytes. NaN for anything else. */
const positive = (value: unknown) =>
  typeof value === 'number' && value >= 0 && value < 2 ** 64 ? value : Number.NaN;

function segmentsByDevice(snapshot: Fields, stacks: Stacks): ReadonlyMap<number, readonly MemorySegment[]> {
  const byDevice = new Map<number, MemorySegment[]>();
  let left = MAX_BLOCKS;
  for (const segment of snapshot.each(snapshot.list('segments') ?? [])) {
    const device = segment.count('device') ?? 0;
    const size = segment.number('total_size');
    if (device >= MAX_DEVICES || size === null || Number.isNaN(positive(size))) continue;
    const start = positive(segment.object.address);
    const blocks = blocksIn(segment, start, stacks, left);
    left -= blocks.length;
    const known = byDevice.get(device);
    if (known) known.push({ size, blocks });
    else byDevice.set(device, [{ size, blocks }]);
  }
  return byDevice;
}

/** Older versions do not write addresses of blocks, which follow each other, and keep frames in a history. */
function blocksIn(segment: Fields, start: number, stacks: Stacks, most: number): readonly MemoryBlock[] {
  let next = start;
  const all = segment.list('blocks') ?? [];
  segment.problems.add('too-many-entries', TOO_MANY, null, all.length - most);
  return segment.each(all.slice(0, most)).flatMap((block) => {
    const size = positive(block.object.size);
    if (Number.isNaN(size)) return [];
    const given = positive(block.object.address);
    const address = Number.isNaN(given) ? next : given;
    next = address + size;
    const requested = positive(block.object.requested_size);
    const history = block.object.history;
    const latest = asObject(Array.isArray(history) ? history[0] : null);
    const real = positive(latest?.real_size);
    return [
      {
        address,
        size,
        requested: Math.min(size, [requested, real, size].find((n) => !Number.isNaN(n))!),
        isInUse: /^active/.test(block.text('state') ?? ''),
        stack: stacks.indexOf(block.object.frames ?? latest?.frames),
      },
    ];
  });
}

const TOO_MANY = {
  message: `The snapshot has more than ${MAX_EVENTS / 1e6} million events or ${MAX_BLOCKS / 1e6} million blocks; counted are those beyond.`,
  consequence: 'Older events and further blocks are left out.',
};

/** Snapshots write the same list of frames once, so each is looked at once. */
class Stacks {
  readonly all: MemoryStack[] = [];
  readonly #seen = new Map<unknown, number>();
  readonly #byText = new Map<string, number>();
  readonly #frames = new Map<string, StackFrame>();

  indexOf(frames: unknown): number {
    if (!Array.isArray(frames) || frames.length === 0) return -1;
    const known = this.#seen.get(frames);
    if (known !== undefined) return known;
    const stack = this.#stackOf(frames);
    // Different C++ frames under the same Python line are the same for us.
    const text = JSON.stringify([
      stack.frames.map((f) => [f.file, f.line, f.function]),
      stack.inBackward,
      stack.accumulates,
      stack.node,
    ]);
    const same = this.#byText.get(text);
    const index = same ?? this.all.push(stack) - 1;
    this.#byText.set(text, index);
    this.#seen.set(frames, index);
    return index;
  }

  #stackOf(values: readonly unknown[]): MemoryStack {
    const frames: StackFrame[] = [];
    let hasNative = false;
    let inBackward = false;
    let accumulates = false;
    let node: string | null = null;
    for (const value of values.slice(0, MAX_FRAMES)) {
      const frame = asObject(value);
      const [name, file] = [frame?.name, frame?.filename];
      if (!frame || typeof name !== 'string' || typeof file !== 'string') continue;
      if (isPython(file)) {
        if (frames.length < KEPT_FRAMES) frames.push(this.#frame(name, file, frame.line));
        continue;
      }
      hasNative = true;
      inBackward ||= name.includes('torch::autograd::Engine::');
      accumulates ||= name.startsWith('torch::autograd::AccumulateGrad::');
      node ??= /^torch::autograd::(?:generated::)?(\w+Backward\d*)::apply/.exec(name)?.[1] ?? null;
    }
    return { frames, inBackward: hasNative ? inBackward : null, accumulates, node };
  }

  #frame(name: string, file: string, line: unknown): StackFrame {
    const number = typeof line === 'number' && Number.isSafeInteger(line) && line >= 0 ? line : 0;
    const key = `${file}:${number} ${name}`;
    const known = this.#frames.get(key);
    if (known) return known;
    const frame = {
      function: name.slice(0, MAX_TEXT),
      file: file.slice(-MAX_TEXT),
      line: number,
      isOwn: isOwnFile(file),
    };
    this.#frames.set(key, frame);
    return frame;
  }
}

/** `train.py`, and cells of notebooks; C++ has `.cpp`, `.c`, `??` or nothing. */
const isPython = (file: string) => /\.pyx?$|^<(?:ipython|stdin|string)/.test(file);
