import type { Precision } from '../../facts/precision.js';
import { firstMatch, type KernelKind, type NameRule, type WorkClass } from './kernel-kind.js';
import { matrixArithmetic } from './matrix-names.js';

type Arithmetic = Pick<KernelKind, 'precision' | 'tensorCore'>;

const MATRIX_WORK: ReadonlySet<WorkClass> = new Set(['gemm', 'conv', 'attention']);
const NO_ARITHMETIC: ReadonlySet<WorkClass> = new Set(['index', 'sort', 'layout', 'fill', 'wait', 'other']);

/** Parts of matrix work that multiply nothing: split-K sums, epilogues, transforms, offsets. */
const HELPERS: readonly RegExp[] = [
  /splitK_?reduce|ReduceSplitK|splitk_reduce|epilogue::impl|scal_kernel|reduce_1Block|reduce_wgrad/i,
  /im2col|col2im|fft2d|generateWinograd|winograd(?:Forward|Wgrad)|compute\w{0,12}OffsetsKernel/,
  /init_device_workspace|dot_do_o|convert_dq|merge_(?:attn_)?states?|combine_kernel|_preprocess/,
];

/** Precision and tensor cores, as far as a name tells. */
export function arithmeticOf(name: string, workClass: WorkClass): Arithmetic {
  if (NO_ARITHMETIC.has(workClass)) return { precision: 'unknown', tensorCore: null };
  const precision = firstMatch(TYPES, name) ?? 'unknown';
  if (!MATRIX_WORK.has(workClass)) return { precision, tensorCore: false };
  if (HELPERS.some((h) => h.test(name))) return { precision, tensorCore: null };
  return matrixArithmetic(name) ?? { precision, tensorCore: usesTensorCores(name, precision, workClass) };
}

/** Where only types are named: some types exist on tensor cores alone, CUTLASS and attention use them for 16 bits. */
function usesTensorCores(name: string, precision: Precision, workClass: WorkClass): boolean | null {
  if (precision === 'tf32' || precision === 'fp8' || precision === 'fp4') return true;
  const isHalf = precision === 'fp16' || precision === 'bf16';
  return isHalf && (workClass === 'attention' || /cutlass|mma|deep_gemm/.test(name)) ? true : null;
}

/**
 * Types as C++ and Triton write them. The narrowest that occurs is the data's: accumulators and scalars beside it are
 * wider.
 */
const TYPES: readonly NameRule<Precision>[] = [
  { test: /e2m1|fp4/i, is: 'fp4' },
  // vLLM's kernels carry the type of the cache, even when it is not fp8.
  { test: /e4m3|e5m2|fp8(?!KVCache)|float8|f8f6f4/i, is: 'fp8' },
  { test: /tfloat32|tf32/i, is: 'tf32' },
  { test: /bfloat16|bf16/i, is: 'bf16' },
  { test: /(?:\b|_)half(?:\b|\d|_)|Half|fp16|float16|_Float16|(?:\b|_)f16/, is: 'fp16' },
  { test: /int8_t|_i8/, is: 'int8' },
  { test: /\bfloat[24]?\b|fp32|(?:\b|_)f32|_float/, is: 'fp32' },
  { test: /\bdouble\b|fp64|(?:\b|_)f64/, is: 'fp64' },
];

/**
 * Completes a precision the name does not state from the operator's input types as record_shapes writes them, e.g.
 * `["c10::BFloat16","c10::BFloat16"]`. 32-bit inputs of matrix work stay unknown: they may run as tf32.
 */
export function completePrecision(kind: KernelKind, inputTypes: string): KernelKind {
  if (kind.precision !== 'unknown') return kind;
  const precision = firstMatch(TYPES, inputTypes.slice(0, 500));
  if (precision === undefined || (precision === 'fp32' && MATRIX_WORK.has(kind.class))) return kind;
  return { ...kind, precision };
}
