import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../../test/helpers/draw-trace.js';
import { Category } from '../../model/category.js';
import { classifyName, classifyNames } from './classify.js';

const A = 'at::native::';
const N = `${A}(anonymous namespace)::`;

describe('classes', () => {
  it.each([
    [
      'softmax',
      'void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, true, false>',
    ],
    ['softmax', `void ${N}cunn_SoftMaxBackwardSmem<4, float, float, float, ${A}LogSoftMaxBackwardEpilogue>`],
    ['norm', `void ${N}vectorized_layer_norm_kernel<float, float, false>(int, float, float const*)`],
    [
      'norm',
      `void ${N}GammaBetaBackwardCUDAKernelTemplate<float, float, 32u, 32u, 256u, false, true, false>`,
    ],
    ['norm', `void ${N}RowwiseMomentsCUDAKernel<float, float>(long, float, float const*, float*, float*)`],
    ['norm', 'void cuComputeGradInput<float, float, float>(float const*, float const*, int, int)'],
    ['norm', `void ${A}batch_norm_transform_input_channels_last_kernel<c10::BFloat16, float, float, 4>`],
    [
      'norm',
      'void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(cudnnTensorStruct, float const*)',
    ],
    [
      'norm',
      `void ${A}unrolled_elementwise_kernel_for_multi_outputs<3, ${A}batch_norm_update_stats_and_invert(at::Tensor const&, double)>`,
    ],
    ['norm', 'void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*)'],
    ['norm', 'MIOpenBatchNormBwdSpatial'],
    ['norm', 'void ck_tile::kentry<256, 2, ck_tile::Rmsnorm2dFwd<ck_tile::Rmsnorm2dFwdPipelineOnePass>>'],
    ['pool', `void ${N}max_pool_forward_nchw<float, float>(int, float const*)`],
    ['pool', `void ${N}upsample_bilinear2d_out_frame<float, float>(int, float, float)`],
    ['rnn', 'void LSTM_elementWise_fp<float, float, float, (cudnnRNNBiasMode_t)2>(int, int)'],
    [
      'elementwise',
      `void ${A}vectorized_elementwise_kernel<4, ${A}CUDAFunctor_add<float>, std::array<char*, 3ul> >`,
    ],
    [
      'elementwise',
      `void ${A}elementwise_kernel<128, 4, ${A}gpu_kernel_impl_nocast<${N}masked_fill_kernel(at::TensorIterator&)>`,
    ],
    [
      'elementwise',
      `void ${A}unrolled_elementwise_kernel<${A}CUDAFunctor_add<float>, at::detail::Array<char*, 3>, LoadWithCast<2> >`,
    ],
    ['elementwise', 'void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)'],
    ['elementwise', 'SubTensorOpWithScalar1d'],
    ['elementwise', '_swiglu_forward_kernel'],
    [
      'reduction',
      `void ${A}reduce_kernel<512, 1, ${A}ReduceOp<float, ${A}MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >`,
    ],
    [
      'optimizer',
      `void ${N}multi_tensor_apply_kernel<${N}FusedOptimizerTensorListMetadata<4>, ${N}FusedAdamMathFunctor<float, 4>>`,
    ],
    [
      'optimizer',
      `void ${N}multi_tensor_apply_kernel<${N}TensorListMetadata<2>, ${N}BinaryOpListAlphaFunctor<float, 2, 2, 0>>`,
    ],
    ['optimizer', 'void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>'],
    [
      'layout',
      'void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)0>',
    ],
    ['layout', 'void nhwcToNchwKernel<float, float, float, true, false, (cudnnKernelDataType_t)0>'],
    ['layout', 'void cudnn::ops::tensorTransformGeneric<float, float, float, true, false>'],
    ['layout', 'void transpose_readWrite_alignment_kernel<float2, float2, 1, false, 6, 4, 4>'],
    ['layout', 'void genericTranspose_kernel<cudnn::ops::GenericTransposeParams>'],
    ['layout', `void ${N}CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*)`],
    [
      'layout',
      `void ${A}elementwise_kernel<128, 2, ${A}gpu_kernel_impl_nocast<${A}direct_copy_kernel_cuda(at::TensorIteratorBase&)>`,
    ],
    ['layout', 'batched_transpose_32x32_half'],
    [
      'cast',
      `void ${A}vectorized_elementwise_kernel<8, ${A}bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>`,
    ],
    [
      'cast',
      `void ${A}unrolled_elementwise_kernel<${A}direct_copy_kernel_cuda(at::TensorIteratorBase&), ${A}memory::LoadWithCast<1> >`,
    ],
    ['cast', 'void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>'],
    ['fill', `void ${A}vectorized_elementwise_kernel<4, ${A}FillFunctor<float>, std::array<char*, 1ul> >`],
    [
      'fill',
      'void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(c10::Scalar const&)>',
    ],
    ['fill', '__amd_rocclr_fillBufferAligned.kd'],
    [
      'index',
      `void ${A}index_elementwise_kernel<128, 4, ${A}gpu_index_kernel<${A}index_put_kernel_impl<${A}OpaqueType<4> > >`,
    ],
    ['index', `void ${N}indexSelectLargeIndex<float, int, unsigned int, 1, 1, -2, true>`],
    ['index', `void ${N}embedding_backward_feature_kernel<float, float, long>(long const*)`],
    [
      'index',
      `void ${A}_scatter_gather_elementwise_kernel<128, 4, ${A}_cuda_scatter_gather_internal_kernel<true, float>>`,
    ],
    [
      'index',
      'void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType)1>',
    ],
    [
      'index',
      'void moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<cutlass::bfloat16_t>>',
    ],
    ['index', 'void vllm::moe::topkGatingSoftmax<8, 128, 4, 16, int>(float const*)'],
    [
      'index',
      'void split_embedding_codegen_forward_unweighted_kernel<float, float, float, false, long, 1ul, 16ul>',
    ],
    ['index', 'void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int const*)'],
    ['random', `void ${N}fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>`],
    [
      'random',
      `void ${N}distribution_elementwise_grid_stride_kernel<float, 4, ${A}templates::cuda::normal_and_transform<float>>`,
    ],
    [
      'sort',
      'void at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::detail::radix::policy_hub<long>>',
    ],
    ['sort', 'void at::native::radixSortKVInPlace<-2, -1, 32, 32, float, long, unsigned int>'],
    ['sort', 'void cub::DeviceScanKernel<cub::AgentScanPolicy<128, 15, int>>'],
    ['loss', `void ${N}nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*)`],
    ['loss', 'liger_cross_entropy_kernel'],
    ['fft', 'void vector_fft<1024u, 8u, 2u, (padding_t)0, (twiddle_t)0>'],
    ['wait', 'at::cuda::(anonymous namespace)::spin_kernel(long)'],
    ['other', 'my_kernel'],
    ['other', ''],
  ])('class %s: %s', (expected, name) => {
    expect(classifyName(name, Category.kernel).class).toBe(expected);
  });

  it.each([
    ['elementwise', 'triton_poi_fused_convolution_relu_3'],
    ['elementwise', 'triton_poi_fused_gelu_view_8'],
    ['elementwise', 'triton__0d1d2d'],
    ['cast', 'triton_poi_fused__to_copy_t_11'],
    ['layout', 'triton_poi_fused_clone_permute_view_4'],
    ['fill', 'triton_poi_fused_zeros_2'],
    ['norm', 'triton_red_fused__to_copy_native_layer_norm_backward_view_5'],
    ['norm', 'triton_per_fused__fused_rms_norm_add_0'],
    ['softmax', 'triton_per_fused__softmax_mul_2'],
    ['loss', 'triton_red_fused__log_softmax_nll_loss_forward_1'],
    ['index', 'triton_poi_fused_embedding_dense_backward_18'],
    ['reduction', 'triton_red_fused_sum_3'],
    ['optimizer', 'triton_for_fused_0'],
  ])('class of a Triton kernel %s: %s', (expected, name) => {
    const kind = classifyName(name, Category.kernel);
    expect(kind).toMatchObject({ class: expected, source: 'triton', fused: true });
  });
});

describe('communication', () => {
  it.each([
    ['nccl', 'ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)'],
    ['nccl', 'ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)'],
    ['nccl', 'ncclSymkDevKernel_AllReduce_AGxLLMC_R_sum_bf16'],
    ['rccl', 'rcclGenericKernel<1, false>'],
    ['nvshmem', 'void nvshmemi_barrier_on_stream_kernel'],
    ['deepep', 'void deep_ep::internode_ll::dispatch<false, true, 3, 7168>(void*, float*)'],
    ['vllm', 'void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)'],
    ['aten', 'void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)'],
    ['aten', 'void c10d::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**)'],
    ['flashinfer', 'void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<0>'],
  ])('communication of %s: %s', (source, name) => {
    expect(classifyName(name, Category.kernel)).toMatchObject({ class: 'comms', source });
  });

  it.each([
    'void at::native::reduce_kernel<512>',
    'ampere_sgemm_128x64_tn',
    'Memcpy PtoP (Device -> Device)',
  ])('communication is not %s', (name) =>
    expect(classifyName(name, Category.kernel).class).not.toBe('comms'),
  );
});

describe('copies', () => {
  it.each([
    ['Memcpy HtoD (Pageable -> Device)', 'HtoD', 'pageable'],
    ['Memcpy HtoD (Pinned -> Device)', 'HtoD', 'pinned'],
    ['Memcpy HtoD (Host -> Device)', 'HtoD', null],
    ['Memcpy DtoH (Device -> Pageable)', 'DtoH', 'pageable'],
    ['Memcpy DtoH (Device -> Pinned)', 'DtoH', 'pinned'],
    ['Memcpy DtoD (Device -> Device)', 'DtoD', null],
    ['Memcpy PtoP (Device -> Device)', 'PtoP', null],
    ['CopyHostToDevice', 'HtoD', null],
    ['CopyDeviceToHost', 'DtoH', null],
    ['CopyDeviceToDevice', 'DtoD', null],
    ['MEMORY_COPY_HOST_TO_DEVICE', 'HtoD', null],
    ['__amd_rocclr_copyBuffer.kd', 'unknown', null],
  ])('direction and host memory of the copy %s', (name, direction, hostMemory) => {
    const copy = { class: 'copy', source: 'runtime', copy: { direction, hostMemory } };
    expect(classifyName(name, Category.memcpy)).toMatchObject(copy);
    expect(classifyName(name, Category.kernel)).toMatchObject(copy);
  });

  it('copies are not counted as fills', () => {
    expect(classifyName('Memset (Device)', Category.memset)).toMatchObject({ class: 'fill', copy: null });
  });
});

describe('layout', () => {
  it.each([
    ['sm90_xmma_wgrad_indexed_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128', 'nhwc'],
    ['sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128', 'nchw'],
    ['void cudnn::ops::nchwToNhwcKernel<float>', null],
    ['nvjet_tst_192x8_64x8_4x1_v_bz_TNT', null],
  ])('layout of %s', (name, layout) => {
    expect(classifyName(name, Category.kernel).layout).toBe(layout);
  });
});

describe('classifyNames', () => {
  it('each name of GPU work has a kind, and no other name has one', () => {
    const trace = drawTrace(`
      host 1   aten::mm 0-10 | cudaLaunchKernel 2-4 #1
      gpu 7    ampere_sgemm_128x64_tn 5-20 #1 | Memcpy HtoD (Pinned -> Device) 20-25 | ampere_sgemm_128x64_tn 30-40
    `);
    const kinds = classifyNames(trace);
    const found = Array.from({ length: trace.data.rows }, (_, row) => kinds[trace.data.name[row]!]?.class);
    expect(found).toEqual([undefined, undefined, 'gemm', 'copy', 'gemm']);
    expect(kinds[trace.data.name[2]!]).toBe(kinds[trace.data.name[4]!]);
  });
});
