import type { KernelKind } from '../kernels/kernel-kind.js';

/** What a piece of GPU work counts as in time accounting. Numbers by string id: a lookup a row, no objects. */
export const WorkSort = { compute: 0, comms: 1, toDevice: 2, toHost: 3, move: 4 } as const;

export function workSorts(kinds: readonly (KernelKind | undefined)[]): Uint8Array {
  return Uint8Array.from(kinds, (kind) => {
    if (kind?.class === 'comms') return WorkSort.comms;
    if (kind?.source !== 'runtime') return WorkSort.compute;
    if (kind.copy?.direction === 'HtoD') return WorkSort.toDevice;
    return kind.copy?.direction === 'DtoH' ? WorkSort.toHost : WorkSort.move;
  });
}
