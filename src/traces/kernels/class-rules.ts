import type { NameRule, WorkClass } from './kernel-kind.js';

/**
 * What a kernel does, by name. The first match decides. Names include template arguments, so a line may match the functor
 * (`FillFunctor`) rather than the kernel around it (`vectorized_elementwise_kernel`): specific patterns come first.
 * Communication and Inductor's names never get here (classify.ts).
 */
export const CLASSES: readonly NameRule<WorkClass>[] = [
  // Copy kernels of AMD's runtime, and copies that a tracer calls kernels.
  [/^(?:Memcpy|CopyHost|CopyDevice|MEMORY_COPY)|__amd_rocclr_copy/, 'copy'],
  [/^(?:Memset|FillBuffer)|__amd_rocclr_fill/, 'fill'],
  [/spin_kernel|sleep_kernel/, 'wait'],

  // Fused and foreach, of torch, Apex and bitsandbytes; torch's GradScaler.
  [/multi_tensor_|Fused(?:Adam|Sgd|Adagrad)|fused_adam|AdamFunctor|LambFunctor/, 'optimizer'],
  [/amp_(?:update_scale|non_finite)|kOptimizer(?:32|8)|adam8bit/, 'optimizer'],

  // Mixture of experts: routing and moving tokens. Before softmax, sort and GEMM, which their names also contain.
  [/::write_indices</, 'index'],
  [/topk_?Gating|moe_(?:align|sum|permute|unpermute|sorting|fused_gate)|MoeSorting/i, 'index'],
  [/expert_tokens|moe::dev::|routingIndices|finalizeMoe|expandInputRows/, 'index'],
  // Key-value caches and rotary embeddings, before attention and embeddings.
  [/reshape_and_cache|concat_and_cache|kv_cache|append_paged|page_indices|set_mla_kv/, 'index'],
  [/rotary|(?:^|_)rope(?:_|$)|Rope[A-Z]|apply_rope/, 'elementwise'],

  [/fmha|flash_(?:fwd|bwd|attn)|FlashAttn|flash::|mha_(?:fwd|bwd)/i, 'attention'],
  [/_sdpa_|attn_(?:fwd|bwd)|attention|Attention(?:Backward)?Kernel/i, 'attention'],
  [/Batch(?:Prefill|Decode)With|BatchQKApply|Single(?:Prefill|Decode)With/, 'attention'],
  [
    /flash_?mla|(?:\b|_)mla_|MLA(?:Fwd|Kernel)|merge_(?:attn_)?states?|PersistentVariableLengthMerge/,
    'attention',
  ],
  // Helpers of cuDNN's backward and of FlashAttention in Triton.
  [/dot_do_o|convert_dq_to|_bwd_preprocess|_bwd_kernel_dk_?dv|_bwd_kernel_dq/, 'attention'],
  // Linear attention and state-space models.
  [/(?:^|_)chunk_\w{0,60}(?:delta|gla|kda|fwd|bwd)|fused_recurrent|selective_scan|_chunk_scan/, 'attention'],

  [/nll_loss|NLLCriterion|cross_?entropy|_cce_|mse_(?:kernel|backward)|smooth_l1|huber/i, 'loss'],
  [/ctc_loss|bce_kernel|kl_div|_loss(?:_|<|\(|$)/, 'loss'],
  [/soft_?max/i, 'softmax'],

  [/(?:layer|batch|group|instance|rms|weight|l2)_?norm/i, 'norm'],
  [/GammaBeta|RowwiseMoments|ComputeInternalGradients|ComputeFusedParams|cuComputeGradInput/, 'norm'],
  [/(?:\b|_)bn_(?:fw|bw)|(?:\b|_)ln_(?:fwd|bwd)|WelfordNorm|cuApplyLayerNorm/, 'norm'],

  // Quantization, whatever it is for.
  [/quant(?:ize)?_(?:with|kernel|fp|per)|_quant_|quantize|cvt_fp16_to_fp4/i, 'cast'],
  [/hfp8|FP8rowwise|FP8_qparam|to_fp8|cast_transpose|(?:multi_)?cast_only|update_amax/, 'cast'],

  [/LSTM|(?:^|_|:)GRU|RNN_|elemWiseRNN|lstm_cell|gru_cell/, 'rnn'],
  [/pooled_embs|EmbeddingBag|embedding_bag/i, 'index'],
  [/pool(?:_|ing|[23]d)|_pool|mloPool|upsample/i, 'pool'],

  // Layout changes around convolutions, then im2col and the convolutions.
  [/n[ch][hw][wc]ToN[ch][hw][wc]Kernel|nhwcAddPadding|foldedNhwc|tensorTransformGeneric/, 'layout'],
  [/transpose_readWrite|genericTranspose|batched_transpose|transpose_NCHW|MIOpenTranspose/, 'layout'],
  [/im2col|col2im|vol2col|col2vol|Im2d2Col/, 'conv'],
  // Complex products of convolutions by FFT.
  [/region_transform_ABC/, 'conv'],
  [/fprop|[dw]grad(?:_|\d|[A-Z])|[dw]grad2d|implicit_gemm|ImplicitGemm|[wW]inograd/, 'conv'],
  [/convol|conv(?:[\dA-Z<_]|\dd_)|_conv(?!ert)|Conv(?:\d|_|Fwd|Bwd|Uni|Forward)|_gtcx/, 'conv'],
  [/scudnn|\d+cudnn|cask_cudnn|cask_plugin|reduce_wgrad|fft2d_|gcgemm|Sp3Asm|gridwise_gen/, 'conv'],
  [/ReduceSplitK|splitKreduce/, 'conv', /cudnn/],
  [/(?:vector|regular|bluestein)_fft|cufft|rocfft|fft_(?:fwd|back)/, 'fft'],

  // FBGEMM's name contains GEMM, which it mostly is not. `cutlass::bfloat16_t` is only a type.
  [/nvjet|Cijk_|(?:^|[^b])gemm(?!a)|gemv|G[eE][mM][mM](?!a)/, 'gemm'],
  [/^bmm_|cublas|splitK_?reduce|ReduceSplitK|^void scal_kernel|dot_kernel|reduce_1Block/, 'gemm'],
  [/cutlass(?!::(?:bfloat16_t|half_t|tfloat32_t|float_e|arch|Array|AlignedArray))/, 'gemm'],
  [/epilogue::impl::globalKernel|matmul|[mM]arlin|(?:^|_)[bm]?mm_kernel|fused_moe_kernel|wvSplitK/, 'gemm'],

  [/embedding|_codegen_/, 'index'],
  [/dropout|distribution_|curand|bernoulli|multinomial|randperm|philox_kernel/i, 'random'],
  [/top_?[kp]|radix_?(?:sort|select)|bitonic|merge_?sort|segmented_?sort|sort_by_key/i, 'sort'],
  [/Device(?:Scan|Compact|Select|Unique|Radix|RunLength)|unique_by_key|ReduceByKey|histogram/i, 'sort'],
  [/cumsum|cumprod|tensor_kernel_scan|_scan_/, 'sort'],

  [/index_(?:elementwise|put|copy|fill|select|add|reduce)|index(?:Select|Func)|indexing_/, 'index'],
  [/scatter|gather|masked_select|take_put|searchsorted|bucketize|to_dense|coalesce/, 'index'],
  [/compute_grad_weight|partial_segment|partials_per_segment|find_long_segments/, 'index'],
  [/recat_|linearize_index|bounds_check|compute_cuda_kernel|jagged|fbgemm_gpu::/, 'index'],

  [/FillFunctor|(?<!masked_)fill_kernel|zero_kernel|arange|linspace|(?:\b|_)eye_/, 'fill'],
  [/CatArray|chunk_cat|split_with_sizes|roll_cuda|flip_|repeat_interleave|pad[23]d|_pad_/, 'layout'],
  [/transpose|permute|unfold|pixel_shuffle|contiguous/i, 'layout'],

  // A copy that loads one type and stores another is a cast; any other only moves data.
  [/direct_copy_kernel|copy_device_to_device/, 'cast', /LoadWithCast/],
  [/(?:bfloat16|float16|float8\w{0,12})_copy_kernel|cast_kernel|convert_/, 'cast'],
  [/direct_copy_kernel|copy_device_to_device|_copy_|copy_kernel/, 'layout'],

  [/reduce_kernel|DeviceReduce|_reduce|reduction|sum_kernel|arg(?:max|min)|logsumexp/, 'reduction'],
  [/elementwise|pointwise|Functor|act_and_mul|activation/i, 'elementwise'],
  [/s[iw]i?glu|geglu|silu|gelu|relu|triu_tril|SubTensorOp|OpTensor|scalePackedTensor/, 'elementwise'],
];
