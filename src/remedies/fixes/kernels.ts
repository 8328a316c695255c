import { NONE, remedy } from '../kit/remedy.js';

export interface Dimensions {
  /** Of most convolutions. */
  readonly dimensions: 2 | 3;
}

const formatOf = ({ dimensions }: Dimensions) => (dimensions === 3 ? 'channels_last_3d' : 'channels_last');

export const channelsLast = remedy({
  id: 'channels-last',
  title: 'channels_last layout for convolutions',
  cost: 'code',
  risk: 'none',
  check:
    'Shapes stay NCHW, only strides change. Code that calls .view() across channels, or custom kernels, may fail loudly or need .reshape(). Group and instance norms of torch work on NCHW memory only: they copy.',
  text: (args: Dimensions) => `Keep model and input in ${formatOf(args)}.`,
  plain: (args) => ({
    lines: [
      `model = model.to(memory_format=torch.${formatOf(args)})`,
      `x = x.to(device, memory_format=torch.${formatOf(args)}, non_blocking=True)`,
    ],
  }),
  usual: { dimensions: 2 },
  trial: { answers: ['nchw-convolutions'], risk: 'numerics' },
});

export const cudnnBenchmark = remedy({
  id: 'cudnn-benchmark',
  title: 'cuDNN searches for the fastest convolution',
  cost: 'free',
  risk: 'none',
  check:
    'Algorithms may differ from run to run. Do not use it with cudnn.deterministic, or with changing shapes: each new shape is searched again.',
  text: 'If the flag is off and shapes are constant, let cuDNN search. The first steps get slower.',
  plain: { atStart: ['torch.backends.cudnn.benchmark = True'] },
  usual: NONE,
  trial: { answers: ['cudnn-benchmark'] },
});

export const cudnnBenchmarkOff = remedy({
  id: 'cudnn-benchmark-off',
  title: 'cuDNN does not search again for every new size',
  cost: 'free',
  risk: 'none',
  check: 'Results agree to rounding: cuDNN may take another algorithm.',
  text: 'Leave cudnn.benchmark off, or resize or pad to a few fixed sizes.',
  plain: { lines: ['torch.backends.cudnn.benchmark = False'] },
  usual: NONE,
});

export const fusedAttention = remedy({
  id: 'fused-attention',
  title: 'fused attention kernels',
  cost: 'code',
  risk: 'numerics',
  check: 'Compare outputs on one batch (rtol 1e-2 in 16 bit): masks and dropout must mean the same.',
  text: 'Call scaled_dot_product_attention with 16-bit inputs and check which backend it takes: a float mask, a head size above 256 or fp32 inputs rule out the fast ones.',
  plain: {
    lines: [
      'from torch.nn.attention import sdpa_kernel, SDPBackend',
      'with sdpa_kernel([SDPBackend.FLASH_ATTENTION,',
      '                  SDPBackend.CUDNN_ATTENTION]):  # fails if neither can run',
      '    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)',
    ],
  },
  usual: NONE,
  trial: { answers: ['unfused-attention'] },
});

export const keepActivations = remedy({
  id: 'keep-activations',
  title: 'fewer checkpointed blocks, or none',
  cost: 'knob',
  risk: 'memory',
  check:
    'Results are the same. Watch torch.cuda.max_memory_allocated(): it grows by the activations that are now kept.',
  text: 'Checkpoint fewer blocks, or none, if memory allows: try without, then every second block.',
  plain: { lines: ['x = block(x)   # instead of checkpoint(block, x, use_reentrant=False)'] },
  usual: NONE,
});

export const sparseEmbeddings = remedy({
  id: 'sparse-embeddings',
  title: 'sparse gradients for embedding tables',
  cost: 'code',
  risk: 'numerics',
  check:
    'Moments and weight decay then reach only the rows of a batch: compare the validation loss. clip_grad_norm_() does not take sparse gradients. It does not help if the table is also the output layer: its gradient is dense.',
  text: 'Let the table have sparse gradients, with an optimizer that updates only the rows of the batch.',
  plain: {
    lines: [
      'table = nn.Embedding(rows, width, sparse=True)',
      'rows_only = torch.optim.SparseAdam(table.parameters())  # or SGD, Adagrad',
      'all_rows = torch.optim.AdamW(other_parameters, fused=True)',
    ],
  },
  usual: NONE,
});

export const tf32 = remedy({
  id: 'tf32',
  title: 'fp32 matrix products in TF32',
  cost: 'free',
  risk: 'numerics',
  check:
    'Compare the loss curve of a few hundred steps. Keep fp32 where you solve, factorize or compare in full precision.',
  text: 'Allow TF32 for matrix products, once, at start-up.',
  plain: { atStart: ['torch.set_float32_matmul_precision("high")'] },
  usual: NONE,
  trial: { answers: ['tf32-off'] },
});

export interface Autocast {
  readonly to: 'bf16' | 'fp16';
  /** The device that has no bf16. */
  readonly device?: string;
  /** Nothing is trained: there is no loss. */
  readonly forwardOnly?: boolean;
}

export const bf16Autocast = remedy({
  id: 'bf16-autocast',
  title: 'bf16 autocast around forward pass and loss',
  cost: 'code',
  risk: 'numerics',
  check:
    'Compare the loss curve over a few hundred steps with the fp32 run at the same seed. Keep norms, softmax and losses in fp32 (autocast does).',
  text: ({ to, device, forwardOnly }: Autocast) =>
    forwardOnly
      ? `Autocast the forward pass to ${to}, and compare some outputs with those in fp32.`
      : to === 'fp16'
        ? `${device} has no bf16: autocast to fp16 with a GradScaler.`
        : 'Autocast the forward pass to bf16, without a GradScaler. On cards without bf16, use fp16 with a GradScaler.',
  plain: ({ to, forwardOnly }) => ({
    lines: forwardOnly
      ? [
          `with torch.inference_mode(), torch.autocast("cuda", dtype=torch.${to === 'fp16' ? 'float16' : 'bfloat16'}):`,
          '    output = model(x)',
        ]
      : to === 'fp16'
        ? [
            'scaler = torch.amp.GradScaler("cuda")',
            'with torch.autocast("cuda", dtype=torch.float16):',
            '    loss = model(x, y)',
            'scaler.scale(loss).backward()',
            'scaler.step(optimizer)',
            'scaler.update()',
          ]
        : [
            'with torch.autocast("cuda", dtype=torch.bfloat16):',
            '    loss = model(x, y)  # forward pass and loss',
            'loss.backward()',
          ],
  }),
  inference: ({ to }) => ({
    text: 'Run the model in 16 bit: convert it once, or autocast the call.',
    lines: [
      `model = model.to(torch.${to === 'fp16' ? 'float16' : 'bfloat16'}).eval()`,
      'with torch.inference_mode():',
      '    y = model(x)',
    ],
  }),
  usual: { to: 'bf16' },
  trial: { answers: ['not-sixteen-bit'] },
});

export const noScaler = remedy({
  id: 'no-scaler',
  title: 'bf16 without a GradScaler',
  cost: 'code',
  risk: 'none',
  check: 'Losses stay the same: bf16 has the range of fp32, so the scale changed nothing.',
  text: 'Remove the GradScaler. Only float16 needs one.',
  plain: { lines: ['loss.backward()', 'optimizer.step()'] },
  usual: NONE,
});

export const singlePrecision = remedy({
  id: 'single-precision',
  title: 'float32 instead of float64',
  cost: 'code',
  risk: 'numerics',
  check:
    'Compare the loss curve of a few hundred steps. Keep double where it is meant: solvers, simulations, long sums.',
  text: 'Convert where the data comes in, and keep the model in float32. Allow TF32 for its products: on data-center cards most of the gain comes from that. To find the source, print the dtype of the batch and of the parameters, and look for NumPy arrays without dtype, .double() and torch.set_default_dtype(torch.float64).',
  plain: {
    lines: [
      'x = torch.from_numpy(array).float()  # or dtype=np.float32 in NumPy',
      'model = model.float()',
      'torch.set_float32_matmul_precision("high")  # TF32',
    ],
  },
  usual: NONE,
});

export const paddedSizes = remedy({
  id: 'padded-sizes',
  title: 'matrix sizes padded to a multiple of 64',
  cost: 'code',
  risk: 'numerics',
  check:
    'Padded classes take part in the softmax: the model learns to avoid them, and the first losses differ. Leave them out when you sample or count classes. Checkpoints change their shape: pad old weights with zeros.',
  text: 'Pad the odd size to a multiple of 64, or at least of 8. It is usually the vocabulary or the number of classes or features. Padded classes are never a target.',
  plain: { lines: ['vocabulary = 64 * math.ceil(50_257 / 64)  # 50_304'] },
  usual: NONE,
});
