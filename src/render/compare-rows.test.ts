import { expect, it } from 'vitest';
import { shortKernelName } from './compare-rows.js';

it.each([
  ['void at::native::norm_kernel<c10::BFloat16, int>(at::Tensor<long>, int)', 'norm_kernel<BFloat16, int>'],
  ['void cudnn::e::toNhwc<float, (cudnnType_t)0>(cudnn::p<float>, float*)', 'toNhwc<float, (cudnnType_t)0>'],
  [
    'void cutlass::Kernel2<cutlass_80_simt_sgemm>(cutlass_80_simt_sgemm::Params)',
    'Kernel2<cutlass_80_simt_sgemm>',
  ],
  ['sm80_xmma_gemm_f32__5x_cublas', 'sm80_xmma_gemm_f32__5x_cublas'],
  ['aten::add_', 'aten::add_'],
  ['Memcpy HtoD (Pinned -> Device)', 'Memcpy HtoD (Pinned -> Device)'],
  ['f<(anonymous namespace)::g>(int)', 'f<(anonymous namespace)::g>'],
  [')))', ')))'],
])('the short name of the kernel %s', (name, short) => expect(shortKernelName(name)).toBe(short));
