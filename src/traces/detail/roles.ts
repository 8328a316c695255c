import {
  BACKWARD_NODE,
  COMPILED_REGION,
  COMPILES,
  DYNAMO_LOOKUP,
  FREES_MEMORY,
  OPTIMIZER_STEP,
  WAITS_FOR_DATA,
  ZERO_GRAD,
} from '../../model/host-names.js';

/** What a host call is part of. Bits; calls inherit those of their callers. */
export const Role = {
  backward: 1,
  optimizer: 2,
  zeroGrad: 4,
  data: 8,
  /** An operator that only a forward pass calls. Inside backward it is recomputation. */
  forwardOp: 16,
  attention: 32,
  /** Attention without a fused kernel. */
  mathAttention: 64,
  compiled: 128,
  dynamoLookup: 256,
  /** Anomaly detection's check for NaN in every backward node. */
  nanCheck: 512,
  /** Reads a value from the device: `.item()`. */
  reads: 1024,
  recompute: 2048,
  batchedMatmul: 4096,
  softmax: 8192,
  /** Moves or converts a tensor: `.to()`, `.cpu()`, `copy_`. */
  copies: 16384,
  /** The shape of the result depends on values, so the host waits for them. */
  sizesFromData: 32768,
  /** Compiling, tuning or loading code; work it launches measures candidates. */
  compiling: 65536,
  /** A norm that works on NCHW memory only: it copies tensors in channels_last before and after. */
  nchwNorm: 131072,
  /** Looks up rows of an embedding table; in backward, makes the gradient of the whole table. */
  embedding: 262144,
  /** GradScaler divides the gradients by its scale, and notes whether one is infinite. */
  unscales: 524288,
  /** Gives device memory back, for which it waits until the whole device is done. */
  freesMemory: 1048576,
} as const;
/** All roles are bits below this. */
export const ROLE_RANGE = 2 ** 24;

const FORWARD_OPS =
  /^aten::(?:linear|layer_norm|native_layer_norm|rms_norm|_fused_rms_norm|group_norm|batch_norm|conv[123]d|convolution|scaled_dot_product_attention|gelu|silu|relu_?|softmax|dropout|embedding|max_pool2d)$/;

const BY_NAME: readonly (readonly [test: RegExp, role: number])[] = [
  [BACKWARD_NODE, Role.backward],
  [OPTIMIZER_STEP, Role.optimizer],
  [ZERO_GRAD, Role.zeroGrad],
  [WAITS_FOR_DATA, Role.data],
  [FORWARD_OPS, Role.forwardOp],
  [
    /^aten::(?:_?scaled_dot_product|_flash_attention|_efficient_attention|_cudnn_attention)|^ScaledDotProduct|flash_attn/,
    Role.attention,
  ],
  [/^aten::_scaled_dot_product_attention_math/, Role.mathAttention],
  [COMPILED_REGION, Role.compiled],
  [DYNAMO_LOOKUP, Role.dynamoLookup],
  [COMPILES, Role.compiling],
  [/^aten::(?:isnan|_is_any_true)$/, Role.nanCheck],
  [/^aten::(?:item|_local_scalar_dense|is_nonzero)$/, Role.reads],
  [
    /^aten::(?:nonzero|masked_select|unique\w{0,12}|_unique\w{0,4}|equal|repeat_interleave)$/,
    Role.sizesFromData,
  ],
  [/^aten::(?:bmm|baddbmm)$/, Role.batchedMatmul],
  [/^aten::(?:_?softmax|_softmax_backward_data|_safe_softmax)$/, Role.softmax],
  [/^aten::(?:copy_|_to_copy|to)$/, Role.copies],
  // Not in backward of an instance norm: that has the names of batch norm.
  [/^aten::(?:native_group_norm(?:_backward)?|instance_norm)$/, Role.nchwNorm],
  [
    /^aten::(?:embedding|embedding_dense_backward|_embedding_bag|_embedding_bag_dense_backward)$/,
    Role.embedding,
  ],
  [/^aten::_amp_(?:foreach_)?non_finite_check_and_unscale_$/, Role.unscales],
  [FREES_MEMORY, Role.freesMemory],
];

export function rolesOf(name: string): number {
  if (name.length > 500) return 0;
  let roles = 0;
  for (const [test, role] of BY_NAME) if (test.test(name)) roles |= role;
  return roles;
}
