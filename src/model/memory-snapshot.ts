import type { StackFrame } from './stack-profile.js';

/** What PyTorch's allocator recorded (`torch.cuda.memory._dump_snapshot`): the memory of the GPUs that one process uses. */
export interface MemorySnapshot {
  readonly devices: readonly DeviceMemory[];
  /** Stacks that allocations refer to, each once. */
  readonly stacks: readonly MemoryStack[];
  /** The allocator maps pieces into one range, so it does not fragment. Null: not recorded. */
  readonly expandableSegments: boolean | null;
}

export const MEMORY_ACTIONS = ['alloc', 'free', 'reserve', 'release', 'oom'] as const;

/** Columns in the order of time. All have as many elements as there are events. */
export interface DeviceMemory {
  readonly device: number;
  /** Index into `MEMORY_ACTIONS`. */
  readonly action: Uint8Array;
  /** Where the memory is. `oom`: how many bytes the device had free, or NaN. */
  readonly address: Float64Array;
  /** Bytes that were asked for. */
  readonly size: Float64Array;
  /** Microseconds since 1970. NaN: not recorded. */
  readonly timeUs: Float64Array;
  /** Index into `stacks`. -1: not recorded. */
  readonly stack: Int32Array;
  /** What the allocator held at the end. */
  readonly segments: readonly MemorySegment[];
}

export interface MemorySegment {
  readonly size: number;
  readonly blocks: readonly MemoryBlock[];
}

export interface MemoryBlock {
  readonly address: number;
  /** With what was added to round it up. */
  readonly size: number;
  /** Bytes that were asked for. */
  readonly requested: number;
  /** Also when it is freed, but a stream may still use it. */
  readonly isInUse: boolean;
  /** Index into `stacks`. -1: not recorded. */
  readonly stack: number;
}

export interface MemoryStack {
  /** Python's, innermost first. */
  readonly frames: readonly StackFrame[];
  /** It was allocated by autograd's engine: in the backward pass. Null: frames of C++ were not recorded. */
  readonly inBackward: boolean | null;
  /** Autograd adds it to the gradient of a parameter. */
  readonly accumulates: boolean;
  /** The operator of the backward pass, `MulBackward0`. Null: none. */
  readonly node: string | null;
}
