import type { KernelSource, NameRule } from './kernel-kind.js';

/** Who wrote a kernel that does not communicate. Namespaces of libraries come first, because many of them use CUTLASS. */
export const SOURCES: readonly NameRule<KernelSource>[] = [
  [/^(?:Memcpy|Memset|CopyHost|CopyDevice|FillBuffer|MEMORY_COPY)|__amd_rocclr_/, 'runtime'],
  [/^triton_|^_attn_(?:fwd|bwd)/, 'triton'],
  [/flashinfer|^fmhaSm\d|BatchPrefillWith|BatchDecodeWith/, 'flashinfer'],
  [/tensorrt_llm|trtllm|^bmm_[A-Z]|^gemm_[A-Z]|moe::dev::/, 'tensorrt-llm'],
  [/vllm::|marlin::|moe_wna16/, 'vllm'],
  [/sgl_|sglang/, 'sglang'],
  [/deep_gemm|sm\d+_fp8_gemm/, 'deepgemm'],
  [/transformer_engine/, 'transformer-engine'],
  [/aiter/, 'aiter'],
  [/flash_fwd|flash_bwd|flash::|FlashAttn/, 'flash'],
  [/fbgemm_gpu|split_embedding|_codegen_/, 'fbgemm'],
  [/^_?Cijk_|Custom_Cijk/, 'rocblas'],
  [/mi_?open|^igemm_|^gridwise_|SubTensorOp/i, 'miopen'],
  [/^(?:void |int )?at::native::/, 'aten'],
  [/\bck::|ck_tile|_ck_|kernel_gemm_xdl|^kentry|_ZN2ck|_ZN7ck_tile/, 'ck'],
  [/cudnn|scudnn|xmma_(?:fprop|dgrad|wgrad)|implicit_convolve|explicit_convolve/, 'cudnn'],
  [/wgrad_alg|dgrad_engine|fft2d_|n[ch]\w{2}ToN[ch]\w{2}Kernel|nhwcAddPadding/, 'cudnn'],
  [/nvjet|xmma_gemm|cublas|(?:volta|turing|ampere|hopper|maxwell)_/, 'cublas'],
  [/gemv|gemmSN|gemmk1|splitKreduce|sgemm_largek|^void scal_kernel|^void dot_kernel/, 'cublas'],
  [/magma_|gemm_kernel[12]x\d_core|epilogue::impl::globalKernel/, 'cublas'],
  [/AttentionKernel|AttentionBackwardKernel|cutlass|fmha_cutlass/, 'cutlass'],
  // Apex has no namespace, ATen's functors do.
  [/cuApplyLayerNorm|cuComputeGradInput|^void multi_tensor_apply_kernel</, 'apex'],
  [/at_cuda_detail::cub|\bcub::|rocprim|hipcub|thrust/, 'cub'],
  [/\bat::|\bc10::|softmax_warp|cunn_|elementwise_kernel/, 'aten'],
  // Names of C++ kernels include parameters. A bare lower-case identifier is a Python function compiled by Triton.
  [/^_?[a-z][a-z0-9_]{1,200}_kernel(?:_[a-z0-9_]{1,80})?$/, 'triton'],
];
