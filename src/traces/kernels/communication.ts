import { firstMatch, type KernelSource, LOOKED_AT, type NameRule } from './kernel-kind.js';

/** Kernels that move data between GPUs, and whose they are. */
const RULES: readonly NameRule<KernelSource>[] = [
  // ncclKernel_*, ncclDevKernel_*, ncclSymkDevKernel_*; RCCL kept NCCL's names, so AMD's look the same.
  { test: /^nccl|[\s:_]nccl[A-Z]/, is: 'nccl' },
  { test: /(?:^|[\s:_])rccl|msccl/i, is: 'rccl' },
  { test: /nvshmem|ishmem|rocshmem/i, is: 'nvshmem' },
  { test: /deep_ep::/, is: 'deepep' },
  // Custom all-reduce of vLLM and SGLang, one and two shots.
  { test: /cross_device_reduce/, is: 'vllm' },
  { test: /quickreduce|allreduce_prototype_twoshot/i, is: 'vllm' },
  // torch symmetric memory.
  { test: /multimem_(?:one_shot_)?(?:all|reduce)/, is: 'aten' },
  { test: /(?:one|two)_shot_(?:all_reduce|reduce_scatter)/, is: 'aten' },
  { test: /symm_mem|intra_node_comm|two_shot_all_gather/, is: 'aten' },
  // FlashInfer and TensorRT-LLM, alone or fused with a norm.
  { test: /allreduce_fusion_kernel|mnnvl_allreduce|lamport_?(?:style|all)/i, is: 'flashinfer' },
  {
    test: /(?:all_?reduce|allgather|reduce_?scatter|all_?to_?all|moe_?a2a)/i,
    also: /tensorrt_llm|trtllm/,
    is: 'tensorrt-llm',
  },
  // Transformer Engine's overlap of communication and GEMM.
  { test: /userbuffers_|kuserbuffers/, is: 'transformer-engine' },
  // AITER's custom all-reduce.
  { test: /all_?reduce|reduce_?scatter|all_?gather/i, also: /aiter::/, is: 'aiter' },
];

export function communicationSource(name: string): KernelSource | undefined {
  return firstMatch(RULES, name);
}

/**
 * Whether a kernel moves data between GPUs. HTA knows only names that start with `nccl`: the two agree on a
 * trace without custom all-reduces.
 */
export function isCommunication(name: string): boolean {
  return communicationSource(name.slice(0, LOOKED_AT)) !== undefined;
}
