/** The number format of the arithmetic where tensor cores do it, else of the data. */
export type Precision = 'fp64' | 'fp32' | 'tf32' | 'fp16' | 'bf16' | 'fp8' | 'fp4' | 'int8' | 'unknown';
