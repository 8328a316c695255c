import { describe, expect, it } from 'vitest';
import { Category } from '../../model/category.js';
import { classifyName } from './classify.js';

/** class, precision, tensor cores (t, f, - for null), source | name. From real traces unless the family is newer. */
const TABLE = `
  gemm fp32 f cublas | ampere_sgemm_128x64_tn
  gemm fp32 f cublas | volta_sgemm_32x32_sliced1x4_nn
  gemm fp64 f cublas | volta_dgemm_128x64_nn
  gemm fp16 f cublas | volta_hgemm_128x64_nn
  gemm fp16 t cublas | volta_h884gemm_256x64_ldg8_tn
  gemm fp16 t cublas | volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn
  gemm fp16 t cublas | turing_fp16_s1688gemm_fp16_256x64_sliced1x2_ldg8_f2f_tn
  gemm bf16 t cublas | ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_nn
  gemm fp16 t cublas | ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x6_tn
  gemm int8 t cublas | turing_i8816gemm_int8_128x128_ldg16_relu_tn
  gemm fp32 f cublas | sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas
  gemm tf32 t cublas | sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas
  gemm bf16 t cublas | sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas
  gemm fp16 t cublas | sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1_tensor16x8x16_kernel
  gemm fp8 t cublas | sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_stage3_warpsize2x2x1_tensor16x8x32_execute_kernel__5x_cublas
  gemm fp64 t cublas | sm80_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x16_stage4_warpsize2x2x1_tensor8x8x4_execute_kernel__5x_cublas
  gemm bf16 t cublas | nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT
  gemm bf16 t cublas | nvjet_tst_64x16_64x16_2x4_2cta_h_bz_bias_TNT
  gemm bf16 t cublas | nvjet_sm100_tst_128x256_64x6_2x1_2cta_v_bz_TNT
  gemm bf16 t cublas | nvjet_sm120_tst_mma_64x64x128_3_32x32x128_tmaAB_alignCD4_bz_TNNN
  gemm fp16 t cublas | nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT
  gemm fp16 t cublas | nvjet_sm90_hss_64x8_64x16_1x1_h_bz_splitK_NNT
  gemm fp8 t cublas | nvjet_qqtst_128x256_128x6_2x2_2cta_h_bz_Avec32UE8M0_Bvec32UE8M0_TNT
  gemm fp4 t cublas | nvjet_ootst_128x128_256x4_2x1_2cta_v_bz_Avec16UE4M3_Bvec16UE4M3_TNT
  gemm tf32 t cublas | nvjet_sss_tf32_128x256_32x4_2x1_v_bz_TNT
  gemm tf32 t cutlass | void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>(cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4::Params)
  gemm fp16 t cutlass | void cutlass::Kernel2<cutlass_75_wmma_tensorop_f16_s161616gemm_f16_32x32_128x2_tn_align8>(cutlass_75_wmma_tensorop_f16_s161616gemm_f16_32x32_128x2_tn_align8::Params)
  gemm bf16 t cutlass | void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8::Params)
  gemm bf16 t cutlass | void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(Params)
  gemm fp32 f cutlass | void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(cutlass_80_simt_sgemm_128x256_8x4_nt_align1::Params)
  gemm fp64 t cutlass | void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(Params)
  gemm fp16 t cutlass | cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f16_128x128x64_2x1x1_0_tnn_align8
  gemm tf32 t cutlass | cutlass3x_sm100_tensorop_s128x128x8tf32gemm_f32_f32_f32_f32_f32_128x128x32_1x1x1_0_tnn_align4_1sm
  gemm fp32 f cutlass | cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x128x16_1x1x1_3_tnn_align1_bias_f32_relu
  gemm fp4 t cutlass | cutlass3x_sm100_bstensorop_s256x128x64gemm_block_scaled_ue4m3xf4_ue4m3xf4_f32_f32_bf16
  gemm bf16 t cutlass | void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::bfloat16_t>>
  gemm fp32 f cublas | void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 2, 2, false, false, cublasGemvParams<cublasGemvTensorStridedBatched<float const>>>
  gemm fp32 f cublas | std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, float, float, false, true, true, false, 7, cublasGemvParamsEx<int>>
  gemm bf16 f cublas | void gemmSN_TN_kernel<__nv_bfloat16, 128, 16, 2, 4, 4, 4, true, cublasGemvTensorStridedBatched<__nv_bfloat16 const>>
  gemm fp32 f cublas | void sgemm_largek_lds64<true, false, 5, 5, 4, 4, 4, 34>(float*, float const*, float const*, int)
  gemm fp32 f cublas | void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensor<float const>, cublasGemvTensorStridedBatched<float>>>
  gemm bf16 - cublas | void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, false>
  gemm fp32 - cublas | void splitKreduce_kernel<float, float, float, float, true, false, false>(cublasSplitKParams<float>, float const*)
  gemm fp32 - cublas | void cublasLt::epilogue::impl::globalKernel<8, 32, float, float, float, true, true, 1>(int, int, long, float*)
  gemm fp8 t tensorrt-llm | bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1_16dp256b_rM_TN
  gemm fp4 t tensorrt-llm | bmm_Bfloat16_E2m1E2m1_Fp32_bA16_bB16_t128x8x512_s5_et128x8_m128x8x64
  gemm fp8 t deepgemm | void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u, 1u, 128u>(float*, int*)
  gemm bf16 - vllm | void marlin::Marlin<__nv_bfloat16, 1125899906909960l, 256, 1, 8, 8, 4, 8, false>
  gemm unknown - triton | fused_moe_kernel
  gemm unknown - triton | triton_tem_fused_addmm_t_view_9
  gemm unknown - triton | triton_mm_plus_mm_0
  gemm fp32 t rocblas | Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32_MI16x16x1_SN_LDSB0
  gemm bf16 t rocblas | Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT512x128x64_MI16x16x1_SN
  gemm fp16 t rocblas | Cijk_Ailk_Bjlk_HHS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN
  gemm fp8 t rocblas | Custom_Cijk_Alik_Bljk_F8B8BS_BH_Bias_HA_S_SAB_SAV_UserArgs_MT256x256x128_MI16x16x1
  gemm tf32 t rocblas | Cijk_Alik_Bljk_S_MX_B_Bias_HA_S_SAV_UserArgs_MT128x128x32_MI16x16x1_SN
  gemm fp32 f rocblas | Cijk_Ailk_Bljk_SB_MT128x128x8_SE_K1
  gemm fp64 t rocblas | Cijk_Ailk_Bljk_DB_MT64x64x16_MI16x16x4x1_SE
  gemm bf16 - ck | void ck::kernel_batched_gemm_xdl_cshuffle_v3_multi_d<ck::GridwiseGemm<ck::tensor_layout, unsigned short, __hip_bfloat16>>
  conv fp32 f cudnn | void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int, int, int, float const*)
  conv fp32 f cudnn | cudnn_infer_ampere_scudnn_128x64_relu_xregs_large_nn_v1
  conv fp32 f cudnn | volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1
  conv fp16 t cudnn | volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1
  conv tf32 t cudnn | sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel_cudnn
  conv tf32 t cudnn | sm90_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn
  conv bf16 t cudnn | sm90_xmma_wgrad_indexed_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1_g1_execute_split_k_kernel__5x_cudnn
  conv tf32 t cudnn | void cutlass_cudnn_train::Kernel<cutlass_tensorop_s1688wgrad_optimized_tf32_256x64_16x4_nhwc_align4>(Params)
  conv bf16 t cudnn | void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8>(Params)
  conv tf32 t cudnn | _ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock22ImplicitGemmMultistageINS_4gemm9GemmShapeILi64ELi128ELi16EEENS4_52Conv2dWgradOutputGradientTileAccessIteratorOptimizedINS_11MatrixShapeILi64ELi16EEENS_10tfloat32_tE
  conv fp32 - cudnn | void cutlass__5x_cudnn::Kernel<cutlass__5x_cudnn::reduction::kernel::ReduceSplitK<cutlass__5x_cudnn::MatrixShape<4, 128>, LinearCombination<float, 4, float, float>>>
  conv fp32 - cudnn | void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(cudnn::winograd_nonfused::WinogradDataParams<float, float>)
  conv fp32 - cudnn | void fft2d_r2c_32x32<float, false, 5u, true>(float2*, float const*, int, int, cudnn::reduced_divisor, bool)
  conv fp32 f cublas | ampere_gcgemm_64x64_nt
  conv fp32 f cudnn | void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int, int, float const*)
  conv unknown - cudnn | cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)
  conv fp32 - cudnn | void conv2d_grouped_direct_kernel<false, true, false, false, 0, 0, int, float, float, float>(cudnn::reduced_divisor)
  conv fp16 - aten | void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, c10::Half, int>(at::GenericPackedTensorAccessor<c10::Half const, 4ul>)
  conv fp32 - miopen | miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1
  conv fp16 t miopen | igemm_fwd_gtcx3_nhwc_fp16_bx0_ex0_bt128x128x32_wt32x32x8_ws1x1_wr2x2
  conv unknown - triton | triton_tem_fused__to_copy_convolution_repeat_unsqueeze_view_2
  attention fp32 t cutlass | fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)
  attention bf16 t cutlass | fmha_cutlassB_bf16_aligned_64x64_k64_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<cutlass::arch::Sm80>)
  attention bf16 t flash | void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>, false>
  attention fp16 t flash | void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::half_t>>
  attention bf16 t flash | void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cutlass::bfloat16_t>>>>
  attention unknown t cudnn | cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0
  attention fp8 t flashinfer | fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext
  attention fp16 t flashinfer | void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<half>>
  attention bf16 t vllm | void vllm::paged_attention_v2_kernel<__nv_bfloat16, __nv_bfloat16, 128, 16, 128, (vllm::Fp8KVCacheDataType)0>
  attention unknown - triton | _attn_fwd
  attention unknown - triton | triton_tem_fused__to_copy_flex_attention_backward_split_transpose_3
  attention bf16 t ck | void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<ck_tile::BlockFmhaPipelineQRKSVSAsync<ck_tile::bf16_t>>>
  attention bf16 t aiter | aiter::fmha_bwd_hd64_bf16_causal_a16_rtz_recompile
  attention unknown - triton | chunk_gated_delta_rule_fwd_kernel_h_blockdim64
`;

const rows = TABLE.trim()
  .split('\n')
  .map((line) => {
    const [facts, name] = line.split(' | ') as [string, string];
    return [name, facts.trim()] as const;
  });

const LETTER = new Map([
  [true, 't'],
  [false, 'f'],
  [null, '-'],
] as const);

describe('matrix work', () => {
  it.each(rows)('matrix work by its name: %s', (name, facts) => {
    const kind = classifyName(name, Category.kernel);
    expect(`${kind.class} ${kind.precision} ${LETTER.get(kind.tensorCore)} ${kind.source}`).toBe(facts);
  });
});
