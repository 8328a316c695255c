/** Number format: of the arithmetic on tensor cores, else of the data. */
export type Precision = 'fp64' | 'fp32' | 'tf32' | 'fp16' | 'bf16' | 'fp8' | 'fp4' | 'int8' | 'unknown';
