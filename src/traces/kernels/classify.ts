import { inBlocks } from '../../base/blocks.js';
import type { Precision } from '../../facts/device-rates.js';
import { Category } from '../../model/category.js';
import type { Trace } from '../../model/trace.js';
import { CLASSES } from './class-rules.js';
import {
  type CopyDirection,
  type CopyKind,
  firstMatch,
  type KernelKind,
  type KernelKinds,
  type KernelSource,
  LOOKED_AT,
  type NameRule,
  type WorkClass,
} from './kernel-kind.js';
import { matrixArithmetic } from './matrix-names.js';

/** xmma writes the formats of its input with filter, then of its output: `nhwckrsc_nhwc`. */
const LAYOUTS: readonly NameRule<'nchw' | 'nhwc'>[] = [
  [/nhwckrsc_nchw/, 'nchw'],
  [/nhwc|channels_last|NHWC/, 'nhwc'],
  [/nchw|NCHW/, 'nchw'],
];

/** What a piece of GPU work is, from its name alone. */
export function classifyName(fullName: string, category: Category): KernelKind {
  const name = fullName.slice(0, LOOKED_AT);
  if (category === Category.memcpy) return transfer('copy', name);
  if (category === Category.memset) return transfer('fill', name);
  const comms = communicationSource(name);
  if (comms !== undefined) return { ...PLAIN, class: 'comms', source: comms };

  const inductor = isInductorName(name);
  const workClass = inductor ? classifyInductor(name) : (firstMatch(CLASSES, name) ?? 'other');
  if (workClass === 'copy') return transfer('copy', name);
  const source = firstMatch(SOURCES, name) ?? 'unknown';
  return {
    class: workClass,
    ...arithmeticOf(name, workClass),
    fused: source === 'triton' || workClass === 'attention',
    source,
    // A kernel that converts between layouts has none of its own.
    layout: workClass === 'layout' ? null : (firstMatch(LAYOUTS, name) ?? null),
    copy: null,
  };
}

export function classifyNames(trace: Trace): KernelKinds {
  const kinds = new Array<KernelKind | undefined>(trace.strings.size).fill(undefined);
  const { work } = trace.links;
  const { name } = trace.data;
  inBlocks(work.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const id = name[work[i]!]!;
      kinds[id] ??= classifyName(trace.strings.text(id), trace.category(work[i]!));
    }
  });
  return kinds;
}

const PLAIN: KernelKind = {
  class: 'other',
  precision: 'unknown',
  tensorCore: null,
  fused: false,
  source: 'unknown',
  layout: null,
  copy: null,
};

function transfer(workClass: WorkClass, name: string): KernelKind {
  return {
    ...PLAIN,
    class: workClass,
    source: 'runtime',
    copy: workClass === 'copy' ? copyKind(name) : null,
  };
}

/**
 * `Memcpy HtoD (Pageable -> Device)` of Kineto; `CopyHostToDevice` of roctracer; `MEMORY_COPY_HOST_TO_DEVICE` of
 * rocprofiler. AMD's blit kernels (`__amd_rocclr_copyBuffer`) do not say.
 */
const DIRECTIONS: readonly NameRule<CopyDirection>[] = [
  [/PtoP|PeerToPeer/i, 'PtoP'],
  [/HtoD|Host_?To_?Device/i, 'HtoD'],
  [/DtoH|Device_?To_?Host/i, 'DtoH'],
  [/DtoD|Device_?To_?Device/i, 'DtoD'],
  [/HtoH|Host_?To_?Host/i, 'HtoH'],
];

/** `Pageable` or `Pinned` is always the host's side: the device's memory has neither word. */
function copyKind(name: string): CopyKind {
  const direction = firstMatch(DIRECTIONS, name) ?? 'unknown';
  const hostMemory = /pageable/i.test(name) ? 'pageable' : /pinned/i.test(name) ? 'pinned' : null;
  return { direction, hostMemory };
}

type Arithmetic = Pick<KernelKind, 'precision' | 'tensorCore'>;

const MATRIX_WORK: ReadonlySet<WorkClass> = new Set(['gemm', 'conv', 'attention']);
const NO_ARITHMETIC: ReadonlySet<WorkClass> = new Set(['index', 'sort', 'layout', 'fill', 'wait', 'other']);

/** Kernels of matrix work that multiply nothing: split-K sums, epilogues, transforms, offsets. */
const HELPERS: readonly RegExp[] = [
  /splitK_?reduce|ReduceSplitK|splitk_reduce|epilogue::impl|scal_kernel|reduce_1Block|reduce_wgrad/i,
  /im2col|col2im|fft2d|generateWinograd|winograd(?:Forward|Wgrad)|compute\w{0,12}OffsetsKernel/,
  /init_device_workspace|dot_do_o|convert_dq|merge_(?:attn_)?states?|combine_kernel|_preprocess/,
];

/** Precision and tensor cores, as far as the name tells. */
function arithmeticOf(name: string, workClass: WorkClass): Arithmetic {
  if (NO_ARITHMETIC.has(workClass)) return { precision: 'unknown', tensorCore: null };
  const precision = firstMatch(TYPES, name) ?? 'unknown';
  if (!MATRIX_WORK.has(workClass)) return { precision, tensorCore: false };
  if (HELPERS.some((h) => h.test(name))) return { precision, tensorCore: null };
  return matrixArithmetic(name) ?? { precision, tensorCore: usesTensorCores(name, precision, workClass) };
}

/** Where the name only states types. Some exist on tensor cores alone; CUTLASS and attention use them for 16 bits. */
function usesTensorCores(name: string, precision: Precision, workClass: WorkClass): boolean | null {
  if (precision === 'tf32' || precision === 'fp8' || precision === 'fp4') return true;
  const isHalf = precision === 'fp16' || precision === 'bf16';
  return isHalf && (workClass === 'attention' || /cutlass|mma|deep_gemm/.test(name)) ? true : null;
}

/** Types as C++ and Triton write them. The narrowest is the data's: accumulators and scalars are wider. */
const TYPES: readonly NameRule<Precision>[] = [
  [/e2m1|fp4/i, 'fp4'],
  // vLLM's kernels name the type of the cache, even when it is not fp8.
  [/e4m3|e5m2|fp8(?!KVCache)|float8|f8f6f4/i, 'fp8'],
  [/tfloat32|tf32/i, 'tf32'],
  [/bfloat16|bf16/i, 'bf16'],
  [/(?:\b|_)half(?:\b|\d|_)|Half|fp16|float16|_Float16|(?:\b|_)f16/, 'fp16'],
  [/int8_t|_i8/, 'int8'],
  [/\bfloat[24]?\b|fp32|(?:\b|_)f32|_float/, 'fp32'],
  [/\bdouble\b|fp64|(?:\b|_)f64/, 'fp64'],
];

/** Who wrote a kernel that does not communicate. Namespaces of libraries come first, because many of them use CUTLASS. */
const SOURCES: readonly NameRule<KernelSource>[] = [
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

/** Kernels that move data between GPUs, and who wrote them. */
const RULES: readonly NameRule<KernelSource>[] = [
  // ncclKernel_*, ncclDevKernel_*, ncclSymkDevKernel_*; RCCL kept NCCL's names, so AMD's look the same.
  [/^nccl|[\s:_]nccl[A-Z]/, 'nccl'],
  [/(?:^|[\s:_])rccl|msccl/i, 'rccl'],
  [/nvshmem|ishmem|rocshmem/i, 'nvshmem'],
  [/\b(?:deep_ep|ep)::|(?:inter|intra)node::?_?(?:dispatch|combine)/, 'deepep'],
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

/**
 * Inductor names a kernel by its template and the operators fused into it:
 * `triton_<poi|red|per|tem|for|...>_fused_<operators in alphabetical order>_<number>`.
 * A pointwise kernel with `convolution` or `addmm` in its name comes *after* that operator (bias, relu), so only templates
 * (`tem`, `mm`) are matrix work.
 */
const KIND = /^triton_([a-z]+?)_(?:fused_?)?/;

const TEMPLATE: readonly NameRule<WorkClass>[] = [
  [/attention|sdpa|flex_decoding/, 'attention'],
  [/convolution|conv\dd/, 'conv'],
  [/./, 'gemm'],
];

/** In order of cost. Kernels without any of these are classed by their template. */
const OPERATORS: readonly NameRule<WorkClass>[] = [
  [/_adam|_fused_sgd|foreach/, 'optimizer'],
  [/nll_loss|cross_entropy|_loss(?:_|$)/, 'loss'],
  [/(?:layer|batch|group|instance|rms)_?norm|_norm_(?:legit|backward)/, 'norm'],
  [/softmax|logsumexp/, 'softmax'],
  [/pool/, 'pool'],
  [/embedding|index|gather|scatter/, 'index'],
  [/sort|topk|cumsum|cumprod/, 'sort'],
];

/** Kernels with only such operators move or convert data. */
const VIEWS = '(?:_unsafe_view|view|reshape|permute|transpose|t|expand|slice|select|squeeze|unsqueeze|split)';
const MOVES = `(?:_to_copy|clone|copy_?|cat|stack|constant_pad_nd|convert_element_type|${VIEWS})`;
const ALL_CASTS = new RegExp(`^(?:(?:_to_copy|convert_element_type|${VIEWS})(?:_|$)){1,40}\\d*$`);
const ALL_MOVES = new RegExp(`^(?:${MOVES}(?:_|$)){1,40}\\d*$`);
const ALL_FILLS =
  /^(?:(?:zeros|zeros_like|ones|ones_like|full|full_like|fill|zero|arange|iota)_?){1,20}_?\d*$/;
const ALL_RANDOM =
  /^(?:(?:inductor_seeds|inductor_random|inductor_randint|rand|randn|bernoulli)_?){1,20}_?\d*$/;

function isInductorName(name: string): boolean {
  return name.startsWith('triton_');
}

function classifyInductor(name: string): WorkClass {
  const found = KIND.exec(name);
  const kind = found?.[1] ?? '';
  const operators = name.slice(found?.[0].length ?? 0);
  if (kind === 'tem' || kind === 'mm' || kind === 'bmm') return firstMatch(TEMPLATE, name)!;
  // Inductor makes foreach kernels from optimizers.
  if (kind === 'for') return 'optimizer';
  const byOperator = firstMatch(OPERATORS, operators);
  if (byOperator !== undefined) return byOperator;
  if (kind === 'red' || kind === 'per' || kind === 'mix') return 'reduction';
  if (ALL_CASTS.test(operators)) return operators.includes('_to_copy') ? 'cast' : 'layout';
  if (ALL_MOVES.test(operators)) return 'layout';
  if (ALL_FILLS.test(operators)) return 'fill';
  if (ALL_RANDOM.test(operators)) return 'random';
  // torch 2.0 wrote `triton__0d1d2d`, which names no operator. Most were pointwise.
  return 'elementwise';
}
