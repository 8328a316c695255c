import type { NameRule, WorkClass } from './kernel-kind.js';

/**
 * What a kernel does, by name; the first line that matches decides. Names carry their template arguments, so a line may
 * match the functor (`FillFunctor`) rather than the kernel around it (`vectorized_elementwise_kernel`): what is specific
 * comes before what is general. Communication and Inductor's names are taken out before (classify.ts).
 */
export const CLASSES: readonly NameRule<WorkClass>[] = [
  // Blit kernels of AMD's runtime, and copies that a tracer calls kernels.
  { test: /^(?:Memcpy|CopyHost|CopyDevice|MEMORY_COPY)|__amd_rocclr_copy/, is: 'copy' },
  { test: /^(?:Memset|FillBuffer)|__amd_rocclr_fill/, is: 'fill' },
  { test: /spin_kernel|sleep_kernel/, is: 'wait' },

  // Fused and foreach, of torch, Apex and bitsandbytes; torch's GradScaler.
  { test: /multi_tensor_|Fused(?:Adam|Sgd|Adagrad)|fused_adam|AdamFunctor|LambFunctor/, is: 'optimizer' },
  { test: /amp_(?:update_scale|non_finite)|kOptimizer(?:32|8)|adam8bit/, is: 'optimizer' },

  // Mixture of experts: routing and moving tokens, before the softmax, sort and GEMM their names also say.
  { test: /::write_indices</, is: 'index' },
  { test: /topk_?Gating|moe_(?:align|sum|permute|unpermute|sorting|fused_gate)|MoeSorting/i, is: 'index' },
  { test: /expert_tokens|moe::dev::|routingIndices|finalizeMoe|expandInputRows/, is: 'index' },
  // Key-value caches and rotary embeddings, before attention and embeddings.
  { test: /reshape_and_cache|concat_and_cache|kv_cache|append_paged|page_indices|set_mla_kv/, is: 'index' },
  { test: /rotary|(?:^|_)rope(?:_|$)|Rope[A-Z]|apply_rope/, is: 'elementwise' },

  { test: /fmha|flash_(?:fwd|bwd|attn)|FlashAttn|flash::|mha_(?:fwd|bwd)/i, is: 'attention' },
  { test: /_sdpa_|attn_(?:fwd|bwd)|attention|Attention(?:Backward)?Kernel/i, is: 'attention' },
  { test: /Batch(?:Prefill|Decode)With|BatchQKApply|Single(?:Prefill|Decode)With/, is: 'attention' },
  {
    test: /flash_?mla|(?:\b|_)mla_|MLA(?:Fwd|Kernel)|merge_(?:attn_)?states?|PersistentVariableLengthMerge/,
    is: 'attention',
  },
  // Helpers of cuDNN's backward, of FlashAttention's kernels in Triton.
  { test: /dot_do_o|convert_dq_to|_bwd_preprocess|_bwd_kernel_dk_?dv|_bwd_kernel_dq/, is: 'attention' },
  // Linear attention and state-space models.
  {
    test: /(?:^|_)chunk_\w{0,60}(?:delta|gla|kda|fwd|bwd)|fused_recurrent|selective_scan|_chunk_scan/,
    is: 'attention',
  },

  { test: /nll_loss|NLLCriterion|cross_?entropy|_cce_|mse_(?:kernel|backward)|smooth_l1|huber/i, is: 'loss' },
  { test: /ctc_loss|bce_kernel|kl_div|_loss(?:_|<|\(|$)/, is: 'loss' },
  { test: /soft_?max/i, is: 'softmax' },

  { test: /(?:layer|batch|group|instance|rms|weight|l2)_?norm/i, is: 'norm' },
  {
    test: /GammaBeta|RowwiseMoments|ComputeInternalGradients|ComputeFusedParams|cuComputeGradInput/,
    is: 'norm',
  },
  { test: /(?:\b|_)bn_(?:fw|bw)|(?:\b|_)ln_(?:fwd|bwd)|WelfordNorm|cuApplyLayerNorm/, is: 'norm' },

  // Quantisation, whatever it is for.
  { test: /quant(?:ize)?_(?:with|kernel|fp|per)|_quant_|quantize|cvt_fp16_to_fp4/i, is: 'cast' },
  { test: /hfp8|FP8rowwise|FP8_qparam|to_fp8|cast_transpose|(?:multi_)?cast_only|update_amax/, is: 'cast' },

  { test: /LSTM|(?:^|_|:)GRU|RNN_|elemWiseRNN|lstm_cell|gru_cell/, is: 'rnn' },
  { test: /pooled_embs|EmbeddingBag|embedding_bag/i, is: 'index' },
  { test: /pool(?:_|ing|[23]d)|_pool|mloPool|upsample/i, is: 'pool' },

  // Layout changes around convolutions, then im2col and the convolutions.
  {
    test: /n[ch][hw][wc]ToN[ch][hw][wc]Kernel|nhwcAddPadding|foldedNhwc|tensorTransformGeneric/,
    is: 'layout',
  },
  {
    test: /transpose_readWrite|genericTranspose|batched_transpose|transpose_NCHW|MIOpenTranspose/,
    is: 'layout',
  },
  { test: /im2col|col2im|vol2col|col2vol|Im2d2Col/, is: 'conv' },
  // Complex products of convolutions by FFT.
  { test: /region_transform_ABC/, is: 'conv' },
  { test: /fprop|[dw]grad(?:_|\d|[A-Z])|[dw]grad2d|implicit_gemm|ImplicitGemm|[wW]inograd/, is: 'conv' },
  { test: /convol|conv(?:[\dA-Z<_]|\dd_)|_conv(?!ert)|Conv(?:\d|_|Fwd|Bwd|Uni|Forward)|_gtcx/, is: 'conv' },
  {
    test: /scudnn|\d+cudnn|cask_cudnn|cask_plugin|reduce_wgrad|fft2d_|gcgemm|Sp3Asm|gridwise_gen/,
    is: 'conv',
  },
  { test: /ReduceSplitK|splitKreduce/, also: /cudnn/, is: 'conv' },
  { test: /(?:vector|regular|bluestein)_fft|cufft|rocfft|fft_(?:fwd|back)/, is: 'fft' },

  // FBGEMM's name contains what it mostly is not; `cutlass::bfloat16_t` is only a type.
  { test: /nvjet|Cijk_|(?:^|[^b])gemm(?!a)|gemv|G[eE][mM][mM](?!a)/, is: 'gemm' },
  { test: /^bmm_|cublas|splitK_?reduce|ReduceSplitK|^void scal_kernel|dot_kernel|reduce_1Block/, is: 'gemm' },
  { test: /cutlass(?!::(?:bfloat16_t|half_t|tfloat32_t|float_e|arch|Array|AlignedArray))/, is: 'gemm' },
  {
    test: /epilogue::impl::globalKernel|matmul|[mM]arlin|(?:^|_)[bm]?mm_kernel|fused_moe_kernel|wvSplitK/,
    is: 'gemm',
  },

  { test: /embedding|_codegen_/, is: 'index' },
  { test: /dropout|distribution_|curand|bernoulli|multinomial|randperm|philox_kernel/i, is: 'random' },
  { test: /top_?[kp]|radix_?(?:sort|select)|bitonic|merge_?sort|segmented_?sort|sort_by_key/i, is: 'sort' },
  {
    test: /Device(?:Scan|Compact|Select|Unique|Radix|RunLength)|unique_by_key|ReduceByKey|histogram/i,
    is: 'sort',
  },
  { test: /cumsum|cumprod|tensor_kernel_scan|_scan_/, is: 'sort' },

  {
    test: /index_(?:elementwise|put|copy|fill|select|add|reduce)|index(?:Select|Func)|indexing_/,
    is: 'index',
  },
  { test: /scatter|gather|masked_select|take_put|searchsorted|bucketize|to_dense|coalesce/, is: 'index' },
  { test: /compute_grad_weight|partial_segment|partials_per_segment|find_long_segments/, is: 'index' },
  { test: /recat_|linearize_index|bounds_check|compute_cuda_kernel|jagged|fbgemm_gpu::/, is: 'index' },

  { test: /FillFunctor|(?<!masked_)fill_kernel|zero_kernel|arange|linspace|(?:\b|_)eye_/, is: 'fill' },
  {
    test: /CatArray|chunk_cat|split_with_sizes|roll_cuda|flip_|repeat_interleave|pad[23]d|_pad_/,
    is: 'layout',
  },
  { test: /transpose|permute|unfold|pixel_shuffle|contiguous/i, is: 'layout' },

  // A copy that loads one type and stores another converts; a strided or plain one only moves.
  { test: /direct_copy_kernel|copy_device_to_device/, also: /LoadWithCast/, is: 'cast' },
  { test: /(?:bfloat16|float16|float8\w{0,12})_copy_kernel|cast_kernel|convert_/, is: 'cast' },
  { test: /direct_copy_kernel|copy_device_to_device|_copy_|copy_kernel/, is: 'layout' },

  {
    test: /reduce_kernel|DeviceReduce|_reduce|reduction|sum_kernel|arg(?:max|min)|logsumexp/,
    is: 'reduction',
  },
  { test: /elementwise|pointwise|Functor|act_and_mul|activation/i, is: 'elementwise' },
  {
    test: /s[iw]i?glu|geglu|silu|gelu|relu|triu_tril|SubTensorOp|OpTensor|scalePackedTensor/,
    is: 'elementwise',
  },
];
