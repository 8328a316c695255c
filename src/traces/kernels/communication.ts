import { firstMatch, type KernelSource, type NameRule } from './kernel-kind.js';

/** Kernels that move data between GPUs, and who wrote them. */
const RULES: readonly NameRule<KernelSource>[] = [
  // ncclKernel_*, ncclDevKernel_*, ncclSymkDevKernel_*; RCCL kept NCCL's names, so AMD's look the same.
  [/^nccl|[\s:_]nccl[A-Z]/, 'nccl'],
  [/(?:^|[\s:_])rccl|msccl/i, 'rccl'],
  [/nvshmem|ishmem|rocshmem/i, 'nvshmem'],
  [/deep_ep::/, 'deepep'],
  // Custom all-reduce of vLLM and SGLang, one-shot and two-shot.
  [/cross_device_reduce/, 'vllm'],
  [/quickreduce|allreduce_prototype_twoshot/i, 'vllm'],
  // torch symmetric memory.
  [/multimem_(?:one_shot_)?(?:all|reduce)/, 'aten'],
  [/(?:one|two)_shot_(?:all_reduce|reduce_scatter)/, 'aten'],
  [/symm_mem|intra_node_comm|two_shot_all_gather/, 'aten'],
  // FlashInfer and TensorRT-LLM, alone or fused with a norm.
  [/allreduce_fusion_kernel|mnnvl_allreduce|lamport_?(?:style|all)/i, 'flashinfer'],
  [/(?:all_?reduce|allgather|reduce_?scatter|all_?to_?all|moe_?a2a)/i, 'tensorrt-llm', /tensorrt_llm|trtllm/],
  // Transformer Engine's overlap of communication and GEMM.
  [/userbuffers_|kuserbuffers/, 'transformer-engine'],
  // AITER's custom all-reduce.
  [/all_?reduce|reduce_?scatter|all_?gather/i, 'aiter', /aiter::/],
];

/** Undefined: the kernel does not communicate. */
export function communicationSource(name: string): KernelSource | undefined {
  return firstMatch(RULES, name);
}
