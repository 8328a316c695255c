import type { Precision } from './device-rates.js';

/**
 * Part of the vendor's dense peak that matrix products of training reach, from the zoo's transformers on an H200
 * (10.7 TFLOP per step: fp32 51, tf32 304, bf16 778 TFLOP/s) and `table_doubles` (fp64 41). The ratio of two of them carries
 * over to other devices better than either alone.
 */
// biome-ignore format: a table
export const REACHED = {
  fp64: 0.61, fp32: 0.76, tf32: 0.61, bf16: 0.79, fp16: 0.79,
} as const satisfies Partial<Record<Precision, number>>;

/**
 * Part of the peak bandwidth that long elementwise kernels of PyTorch reach: 0.82 to 0.88 on an H100 (TraceLens's recordings of
 * Qwen1.5 and TimeSformer; kernels that only copy with strides reach half of it).
 */
export const REACHED_BANDWIDTH = 0.85;
