import { type DeviceMemory, MEMORY_ACTIONS } from '../model/memory-snapshot.js';

/** Memory from when it was allocated until it was freed. Times are indexes of events. */
export interface Allocation {
  readonly bytes: number;
  /** Index into the stacks of the snapshot. -1: not recorded. */
  readonly stack: number;
  /** -1: before the recording. */
  readonly start: number;
  /** Infinity: it was never freed. */
  end: number;
}

const [ALLOC, FREE] = [MEMORY_ACTIONS.indexOf('alloc'), MEMORY_ACTIONS.indexOf('free')];

/**
 * All allocations. The recording often begins late or has lost its beginning; then frees and blocks that are still in use show
 * what was allocated before.
 */
export function allocationsOf({
  action,
  address,
  size,
  stack,
  segments,
}: DeviceMemory): readonly Allocation[] {
  const all: Allocation[] = [];
  const live = new Map<number, Allocation>();
  for (let i = 0; i < action.length; i++) {
    const at = address[i]!;
    if (action[i] === ALLOC) {
      // Its free was not recorded.
      const before = live.get(at);
      if (before) before.end = i;
      const made = { bytes: size[i]!, stack: stack[i]!, start: i, end: Infinity };
      all.push(made);
      live.set(at, made);
    } else if (action[i] === FREE) {
      const freed = live.get(at);
      live.delete(at);
      if (freed) freed.end = i;
      else all.push({ bytes: size[i]!, stack: -1, start: -1, end: i });
    }
  }
  for (const { blocks } of segments)
    for (const block of blocks)
      if (block.isInUse && !live.has(block.address))
        all.push({ bytes: block.requested, stack: block.stack, start: -1, end: Infinity });
  return all;
}
