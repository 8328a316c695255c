import { NONE, remedy } from '../kit/remedy.js';
import { FUSED_ADAMW } from './compile.js';

export interface Fused {
  /** GradScaler reads a flag because the optimizer is not fused (torch/amp/grad_scaler.py, `_step_supports_amp_scaling`). */
  readonly scaler?: boolean;
  /** This optimizer has no fused implementation. */
  readonly foreach?: boolean;
}

export const fusedOptimizer = remedy({
  id: 'fused-optimizer',
  title: 'fused optimizer (foreach if there is no fused one)',
  cost: 'knob',
  risk: 'numerics',
  check:
    'The arithmetic is the same in another order: loss curves agree to rounding. fused=True needs all parameters on the GPU in floating point.',
  text: ({ scaler }: Fused) =>
    scaler
      ? 'GradScaler makes this read: before scaler.step() calls an optimizer that is not fused, it asks whether a gradient is infinite. A fused optimizer takes that answer on the GPU. bf16 needs no scaler at all.'
      : 'Use the fused implementation, or foreach if there is none.',
  plain: ({ scaler, foreach }) => ({
    lines: scaler
      ? [
          'torch.optim.AdamW(model.parameters(), fused=True)  # or Adam, SGD, Adagrad',
          '# or torch.autocast("cuda", dtype=torch.bfloat16) without GradScaler',
        ]
      : foreach
        ? ['foreach=True']
        : [FUSED_ADAMW],
  }),
  usual: {},
  trial: { answers: ['optimizer-for-loop', 'optimizer-foreach'], alsoFor: ['launch-bound'] },
});

export const dropGradients = remedy({
  id: 'drop-gradients',
  title: 'gradients dropped instead of filled with zeros',
  cost: 'free',
  risk: 'none',
  check: 'Results are the same. Code that reads .grad before backward must expect None.',
  text: 'Drop gradients instead of filling them with zeros.',
  plain: { lines: ['optimizer.zero_grad(set_to_none=True)  # the default'] },
  usual: NONE,
});

export interface Batch {
  /** Accumulation and learning rates concern training only. */
  readonly trains: boolean;
  readonly size?: number | 'N';
  /** There is no GPU, and operators are what is short. */
  readonly onHost?: boolean;
}

export const largerMicroBatch = remedy({
  id: 'larger-micro-batch',
  title: 'larger micro-batches, less accumulation',
  cost: 'knob',
  risk: ({ trains }: Batch) => (trains ? 'numerics' : 'memory'),
  check:
    'With the same effective batch the loss curve is the same up to noise; batch norm sees other statistics. Without accumulation to lower, tune the learning rate again.',
  text: ({ trains, onHost }) =>
    onHost
      ? 'Give each operator more to do: a larger batch, one call for the whole batch instead of a loop over samples, torch._foreach functions instead of a loop over parameters. torch.compile joins what is left.'
      : trains
        ? 'Raise the micro-batch as far as memory allows and lower gradient accumulation by the same factor: the effective batch stays the same.'
        : 'Raise the batch size as far as memory and latency allow: the same launches then carry more samples.',
  plain: ({ trains, size }) => ({
    set: { DataLoader: { batch_size: size ?? '4 * batch_size' } },
    lines: trains ? ['accumulation_steps //= 4        # same effective batch'] : [],
  }),
  usual: { trains: true },
  trial: {
    answers: ['small-batch'],
    risk: 'memory',
    // A factor. It must divide the number of accumulated batches.
    knob: { argument: null, start: () => 2, most: 16 },
    args: (used) => ({ trains: true, size: used }),
  },
});
