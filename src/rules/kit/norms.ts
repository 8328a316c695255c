import type { KernelTotal } from '../../traces/detail/kernel-table.js';

/** By the names of torch's and cuDNN's kernels. An instance norm runs them too. */
export const isBatchNorm = (k: KernelTotal): boolean =>
  k.class === 'norm' && /batch_?norm|bn_/i.test(k.name.slice(0, 300));
