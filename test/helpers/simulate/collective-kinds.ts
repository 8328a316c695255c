export type CollectiveKind = 'all_reduce' | 'all_gather' | 'reduce_scatter' | 'send' | 'recv';

/** What traces call a collective: in arguments, as operator, as span, as kernel. */
export interface KindNames {
  readonly argument: string;
  readonly operator: string;
  readonly span: string;
  readonly kernel: string;
}

const KERNEL_ARGUMENTS = '(ncclDevKernelArgsStorage<4096ul>)';

export const KIND_NAMES: Readonly<Record<CollectiveKind, KindNames>> = {
  all_reduce: {
    argument: 'allreduce',
    operator: 'c10d::allreduce_',
    span: 'nccl:all_reduce',
    kernel: `ncclDevKernel_AllReduce_Sum_bf16_RING_LL${KERNEL_ARGUMENTS}`,
  },
  all_gather: {
    argument: '_allgather_base',
    operator: 'c10d::_allgather_base_',
    span: 'nccl:_all_gather_base',
    kernel: `ncclDevKernel_AllGather_RING_LL${KERNEL_ARGUMENTS}`,
  },
  reduce_scatter: {
    argument: '_reduce_scatter_base',
    operator: 'c10d::_reduce_scatter_base_',
    span: 'nccl:_reduce_scatter_base',
    kernel: `ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL${KERNEL_ARGUMENTS}`,
  },
  send: {
    argument: 'send',
    operator: 'c10d::send',
    span: 'nccl:send',
    kernel: `ncclDevKernel_SendRecv${KERNEL_ARGUMENTS}`,
  },
  recv: {
    argument: 'recv',
    operator: 'c10d::recv_',
    span: 'nccl:recv',
    kernel: `ncclDevKernel_SendRecv${KERNEL_ARGUMENTS}`,
  },
};

/** How much of a collective's bytes crosses the slowest link: from nccl-tests. */
export function busFactor(kind: CollectiveKind, members: number): number {
  if (kind === 'all_reduce') return (2 * (members - 1)) / members;
  return kind === 'send' || kind === 'recv' ? 1 : (members - 1) / members;
}

/** Elements (two bytes each) that go in and come out on one member; `bytes` is the whole. */
export function elementsOf(kind: CollectiveKind, bytes: number, members: number): readonly [number, number] {
  const all = Math.round(bytes / 2);
  const part = Math.round(bytes / 2 / members);
  if (kind === 'all_gather') return [part, all];
  return kind === 'reduce_scatter' ? [all, part] : [all, all];
}
