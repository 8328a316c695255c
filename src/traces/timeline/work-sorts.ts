import { WorkSort } from '../../facts/time-class.js';
import type { KernelKinds } from '../kernels/kernel-kind.js';

/** The sort of GPU work, indexed by the string id of its name. */
export function workSorts(kinds: KernelKinds): Uint8Array {
  return Uint8Array.from(kinds, (kind) => {
    if (kind?.class === 'comms') return WorkSort.comms;
    if (kind?.source !== 'runtime') return WorkSort.compute;
    if (kind.copy?.direction === 'HtoD') return WorkSort.toDevice;
    return kind.copy?.direction === 'DtoH' ? WorkSort.toHost : WorkSort.move;
  });
}
