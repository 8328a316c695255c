import { expect, it } from 'vitest';
import { drawTrace } from './draw-trace.js';

it('refuses a kernel that starts before its launch', () => {
  const drawing = 'host 1  cudaLaunchKernel 10-20 #1 x3@10\ngpu 7  gemm 15-30 #1 x3@5';
  expect(() => drawTrace(drawing)).toThrow(
    'gemm (#3) starts at 25 µs, before cudaLaunchKernel launches it at 30 µs',
  );
  expect(() => drawTrace(drawing.replace('x3@5', 'x3@15'))).not.toThrow();
});
