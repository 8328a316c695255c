/** A change that a trial can make from outside. The Python part applies it (`python/src/whyslow_capture/trials/fixes`). */
export interface TriedFix {
  readonly id: string;
  readonly title: string;
  /** Findings whose gain is a prediction for this fix. */
  readonly answers: readonly string[];
  /** Findings for which it is also worth a try, without a prediction. */
  readonly alsoFor?: readonly string[];
  /** What it may change besides speed. */
  readonly risk: 'none' | 'numerics' | 'memory' | 'data';
  /** Fixes of the same group do not work together. */
  readonly group?: string;
  /** `N` stands for the number that the trial used. */
  readonly paste: Paste;
}

/** How to make the change for good. A framework without an entry takes the plain lines. */
interface Paste {
  readonly plain: readonly string[];
  /** Arguments of TrainingArguments. */
  readonly transformers?: readonly string[];
  /** Arguments of Lightning's Trainer. */
  readonly lightning?: readonly string[];
}

const SPLIT_COLLECTIVES = ['exposed-collectives', 'small-collectives'];

/** In the order in which `--all` tries them: cheap and harmless ones first. */
export const FIXES: readonly TriedFix[] = [
  {
    id: 'tf32',
    title: 'fp32 matrix products in TF32',
    answers: ['tf32-off'],
    risk: 'numerics',
    paste: {
      plain: ['torch.set_float32_matmul_precision("high")'],
      transformers: ['tf32=True'],
    },
  },
  {
    id: 'cudnn-benchmark',
    title: 'cuDNN searches for the fastest convolution',
    answers: ['cudnn-benchmark'],
    risk: 'none',
    paste: { plain: ['torch.backends.cudnn.benchmark = True'], lightning: ['benchmark=True'] },
  },
  {
    id: 'anomaly-off',
    title: 'anomaly detection off',
    answers: ['anomaly-detection'],
    risk: 'none',
    paste: {
      plain: ['torch.autograd.set_detect_anomaly(False)'],
      lightning: ['detect_anomaly=False'],
    },
  },
  {
    id: 'loader-workers',
    title: 'more DataLoader workers, kept alive',
    answers: ['num-workers-zero', 'slow-workers'],
    alsoFor: ['input-wait'],
    risk: 'memory',
    paste: {
      plain: ['DataLoader(…, num_workers=N, persistent_workers=True)'],
      transformers: ['dataloader_num_workers=N', 'dataloader_persistent_workers=True'],
    },
  },
  {
    id: 'loader-persistent',
    title: 'DataLoader workers live through epochs',
    answers: ['workers-restarted'],
    risk: 'memory',
    paste: {
      plain: ['DataLoader(…, persistent_workers=True)'],
      transformers: ['dataloader_persistent_workers=True'],
    },
  },
  {
    id: 'loader-prefetch',
    title: 'DataLoader workers prefetch more batches',
    answers: ['bursty-input'],
    risk: 'memory',
    paste: {
      plain: ['DataLoader(…, prefetch_factor=N)'],
      transformers: ['dataloader_prefetch_factor=N'],
    },
  },
  {
    id: 'pinned-copies',
    title: 'copies to the GPU from pinned memory, without waiting',
    answers: ['pageable-copy', 'blocking-copy'],
    alsoFor: ['exposed-copy'],
    risk: 'memory',
    paste: {
      plain: [
        'DataLoader(…, pin_memory=True)  # or tensor.pin_memory() for tensors that stay in memory',
        'batch = batch.to(device, non_blocking=True)',
      ],
      transformers: ['dataloader_pin_memory=True', 'accelerator_config={"non_blocking": True}'],
    },
  },
  {
    id: 'fused-optimizer',
    title: 'fused optimizer (foreach where there is no fused one)',
    answers: ['optimizer-for-loop', 'optimizer-foreach'],
    alsoFor: ['launch-bound'],
    risk: 'numerics',
    paste: {
      plain: ['torch.optim.AdamW(…, fused=True)  # or the optimizer that you use'],
      transformers: ['optim="adamw_torch_fused"'],
    },
  },
  {
    id: 'channels-last',
    title: 'channels_last layout for convolutions',
    answers: ['nchw-convolutions'],
    risk: 'numerics',
    paste: {
      plain: [
        'model = model.to(memory_format=torch.channels_last)  # channels_last_3d for 3-d convolutions',
        'images = images.to(memory_format=torch.channels_last)',
      ],
    },
  },
  {
    id: 'bf16-autocast',
    title: 'bf16 autocast around forward pass and loss',
    answers: ['not-sixteen-bit'],
    risk: 'numerics',
    paste: {
      plain: ['with torch.autocast("cuda", dtype=torch.bfloat16):', '    loss = …  # forward pass and loss'],
      transformers: ['bf16=True'],
      lightning: ['precision="bf16-mixed"'],
    },
  },
  {
    id: 'compile',
    title: 'torch.compile of the model',
    answers: ['launch-bound', 'unfused-elementwise'],
    risk: 'numerics',
    group: 'compile',
    paste: { plain: ['model = torch.compile(model)'], transformers: ['torch_compile=True'] },
  },
  {
    id: 'compile-graphs',
    title: 'torch.compile with CUDA graphs (reduce-overhead)',
    answers: ['no-cuda-graphs'],
    alsoFor: ['launch-bound'],
    risk: 'numerics',
    group: 'compile',
    paste: {
      plain: ['model = torch.compile(model, mode="reduce-overhead")'],
      transformers: ['torch_compile=True', 'torch_compile_mode="reduce-overhead"'],
    },
  },
  {
    id: 'fused-attention',
    title: 'fused attention kernels',
    answers: ['unfused-attention'],
    risk: 'numerics',
    paste: {
      plain: [
        'AutoModel.from_pretrained(…, attn_implementation="sdpa")  # transformers',
        'F.scaled_dot_product_attention(q, k, v)  # plain, without sdpa_kernel(SDPBackend.MATH)',
      ],
    },
  },
  {
    id: 'gc-frozen',
    title: 'objects of the set-up out of garbage collection, no gc.collect() in the steps',
    answers: ['host-pause', 'gc-time'],
    risk: 'memory',
    paste: {
      plain: [
        'gc.collect(); gc.freeze()  # once, after the first steps',
        '# remove gc.collect() from the training loop, if it is there',
      ],
    },
  },
  {
    id: 'keep-cache',
    title: 'no torch.cuda.empty_cache() in the steps',
    answers: ['allocator-churn'],
    risk: 'memory',
    paste: { plain: ['# remove torch.cuda.empty_cache() from the training loop'] },
  },
  {
    id: 'expandable-segments',
    title: 'allocator segments that grow',
    answers: [],
    alsoFor: ['allocator-churn'],
    risk: 'memory',
    paste: { plain: ['export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True  # in the shell'] },
  },
  {
    id: 'omp-threads',
    title: 'as many operator threads as this rank has cores',
    answers: [],
    alsoFor: ['cpu-contention'],
    risk: 'numerics',
    paste: { plain: ['export OMP_NUM_THREADS=N  # in the shell'] },
  },
  {
    id: 'numa-binding',
    title: 'process bound to the cores next to its GPU',
    answers: [],
    alsoFor: ['cpu-contention'],
    risk: 'none',
    paste: { plain: ['numactl --cpunodebind=N --membind=N python …  # in the shell'] },
  },
  {
    id: 'ddp-bucket-view',
    title: 'DDP: gradients are views of the buckets',
    answers: [],
    alsoFor: SPLIT_COLLECTIVES,
    risk: 'none',
    paste: {
      plain: ['DistributedDataParallel(…, gradient_as_bucket_view=True)'],
      lightning: ['strategy=DDPStrategy(gradient_as_bucket_view=True)'],
    },
  },
  {
    id: 'ddp-bucket-size',
    title: 'DDP: larger buckets',
    answers: ['small-collectives'],
    alsoFor: ['exposed-collectives'],
    risk: 'memory',
    paste: {
      plain: ['DistributedDataParallel(…, bucket_cap_mb=N)'],
      transformers: ['ddp_bucket_cap_mb=N'],
      lightning: ['strategy=DDPStrategy(bucket_cap_mb=N)'],
    },
  },
  {
    id: 'ddp-static-graph',
    title: 'DDP: static graph, no search for unused parameters',
    answers: ['find-unused-parameters'],
    alsoFor: SPLIT_COLLECTIVES,
    risk: 'data',
    paste: {
      plain: ['DistributedDataParallel(…, static_graph=True)  # only if every step runs the same layers'],
      transformers: ['ddp_find_unused_parameters=False'],
      lightning: ['strategy=DDPStrategy(static_graph=True)'],
    },
  },
  {
    id: 'fsdp-prefetch',
    title: 'FSDP: all-gathers start earlier',
    answers: ['no-prefetch'],
    risk: 'memory',
    paste: {
      plain: ['FSDP(…, forward_prefetch=True, backward_prefetch=BackwardPrefetch.BACKWARD_PRE)'],
    },
  },
  {
    id: 'larger-micro-batch',
    title: 'larger micro-batches, less accumulation',
    answers: ['small-batch'],
    risk: 'memory',
    paste: {
      plain: ['# twice the batch size, half the accumulation steps'],
      transformers: ['per_device_train_batch_size=N', 'gradient_accumulation_steps=…  # half of it'],
    },
  },
];

export const fixNamed = (id: string): TriedFix | undefined => FIXES.find((fix) => fix.id === id);
