import type { KernelSource, NameRule } from './kernel-kind.js';

/** Who wrote a kernel that is no communication. Library namespaces first, so that their use of CUTLASS does not hide them. */
export const SOURCES: readonly NameRule<KernelSource>[] = [
  { test: /^(?:Memcpy|Memset|CopyHost|CopyDevice|FillBuffer|MEMORY_COPY)|__amd_rocclr_/, is: 'runtime' },
  { test: /^triton_|^_attn_(?:fwd|bwd)/, is: 'triton' },
  { test: /flashinfer|^fmhaSm\d|BatchPrefillWith|BatchDecodeWith/, is: 'flashinfer' },
  { test: /tensorrt_llm|trtllm|^bmm_[A-Z]|^gemm_[A-Z]|moe::dev::/, is: 'tensorrt-llm' },
  { test: /vllm::|marlin::|moe_wna16/, is: 'vllm' },
  { test: /sgl_|sglang/, is: 'sglang' },
  { test: /deep_gemm|sm\d+_fp8_gemm/, is: 'deepgemm' },
  { test: /transformer_engine/, is: 'transformer-engine' },
  { test: /aiter/, is: 'aiter' },
  { test: /flash_fwd|flash_bwd|flash::|FlashAttn/, is: 'flash' },
  { test: /fbgemm_gpu|split_embedding|_codegen_/, is: 'fbgemm' },
  { test: /^_?Cijk_|Custom_Cijk/, is: 'rocblas' },
  { test: /mi_?open|^igemm_|^gridwise_|SubTensorOp/i, is: 'miopen' },
  { test: /^(?:void |int )?at::native::/, is: 'aten' },
  { test: /\bck::|ck_tile|_ck_|kernel_gemm_xdl|^kentry|_ZN2ck|_ZN7ck_tile/, is: 'ck' },
  { test: /cudnn|scudnn|xmma_(?:fprop|dgrad|wgrad)|implicit_convolve|explicit_convolve/, is: 'cudnn' },
  { test: /wgrad_alg|dgrad_engine|fft2d_|n[ch]\w{2}ToN[ch]\w{2}Kernel|nhwcAddPadding/, is: 'cudnn' },
  { test: /nvjet|xmma_gemm|cublas|(?:volta|turing|ampere|hopper|maxwell)_/, is: 'cublas' },
  { test: /gemv|gemmSN|gemmk1|splitKreduce|sgemm_largek|^void scal_kernel|^void dot_kernel/, is: 'cublas' },
  { test: /magma_|gemm_kernel[12]x\d_core|epilogue::impl::globalKernel/, is: 'cublas' },
  { test: /AttentionKernel|AttentionBackwardKernel|cutlass|fmha_cutlass/, is: 'cutlass' },
  // Apex has no namespace, ATen's functors do.
  { test: /cuApplyLayerNorm|cuComputeGradInput|^void multi_tensor_apply_kernel</, is: 'apex' },
  { test: /at_cuda_detail::cub|\bcub::|rocprim|hipcub|thrust/, is: 'cub' },
  { test: /\bat::|\bc10::|softmax_warp|cunn_|elementwise_kernel/, is: 'aten' },
  // C++ kernels come with their parameters; a bare lower-case identifier is what Triton makes of a Python function.
  { test: /^_?[a-z][a-z0-9_]{1,200}_kernel(?:_[a-z0-9_]{1,80})?$/, is: 'triton' },
];
