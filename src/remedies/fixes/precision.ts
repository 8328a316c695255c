import { NONE, remedy } from '../kit/remedy.js';

export const tf32 = remedy({
  id: 'tf32',
  title: 'fp32 matrix products in TF32',
  cost: 'free',
  risk: 'numerics',
  check:
    'Compare the loss curve of a few hundred steps. Keep fp32 where you solve, factorize or compare in full precision.',
  text: 'Allow TF32 for matrix products, once, at start-up.',
  plain: {
    lines: ['torch.set_float32_matmul_precision("high")'],
  },
  usual: NONE,
  trial: { answers: ['tf32-off'] },
});

export interface Autocast {
  readonly to: 'bf16' | 'fp16';
  /** The device that has no bf16. */
  readonly device?: string;
}

export const bf16Autocast = remedy({
  id: 'bf16-autocast',
  title: 'bf16 autocast around forward pass and loss',
  cost: 'code',
  risk: 'numerics',
  check:
    'Compare the loss curve over a few hundred steps with the fp32 run at the same seed. Keep norms, softmax and losses in fp32 (autocast does).',
  text: ({ to, device }: Autocast) =>
    to === 'fp16'
      ? `${device} has no bf16: autocast to fp16 with a GradScaler.`
      : 'Autocast the forward pass to bf16, without a GradScaler. On cards without bf16, use fp16 with a GradScaler.',
  plain: ({ to }) => ({
    lines:
      to === 'fp16'
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
