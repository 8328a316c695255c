import type { Precision } from '../../facts/precision.js';
import { firstMatch, type KernelKind, type NameRule, type WorkClass } from './kernel-kind.js';
import { matrixArithmetic } from './matrix-names.js';

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
export function arithmeticOf(name: string, workClass: WorkClass): Arithmetic {
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
