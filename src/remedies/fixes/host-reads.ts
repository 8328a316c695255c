import { NONE, remedy } from '../kit/remedy.js';

/** Fixes of waits for the GPU, and of what was left on after debugging. */

export const lateReads = remedy({
  id: 'late-reads',
  title: 'values read every N steps, or a step late',
  cost: 'knob',
  risk: 'none',
  check:
    'Logged values must be the same ones, only later. Code that branches on a value (NaN checks, clipping by hand) must stay on the GPU: torch.where.',
  text: 'Move reads out of the step: log every N steps, keep values on the GPU, and read them one step late.',
  plain: {
    lines: [
      'losses.append(loss.detach())               # no .item() in the step',
      'if step % 100 == 0:',
      '    print(torch.stack(losses).mean().item())',
    ],
  },
  usual: NONE,
});

export interface Fixed {
  readonly cost: 'knob' | 'code';
}

export const fixedSizes = remedy({
  id: 'fixed-sizes',
  title: 'results of a fixed size',
  cost: ({ cost }: Fixed) => cost,
  risk: 'none',
  check: 'Padded entries must not count in losses and means: compare the loss on one batch.',
  text: 'Give results a fixed size: pad to a capacity, multiply by the mask instead of selecting with it, and sort once instead of calling nonzero for each part.',
  plain: {
    lines: [
      'out = torch.where(mask[..., None], expert(x), 0)      # not x[mask]',
      'idx = scores.topk(capacity, dim=0).indices            # fixed size',
    ],
  },
  usual: { cost: 'code' },
});

export const anomalyOff = remedy({
  id: 'anomaly-off',
  title: 'anomaly detection off',
  cost: 'free',
  risk: 'none',
  check: 'Results are the same. Keep a cheap guard instead: torch.isfinite(loss) every few hundred steps.',
  text: 'Turn it off unless you are debugging.',
  plain: { lines: ['torch.autograd.set_detect_anomaly(False)'] },
  usual: NONE,
  trial: { answers: ['anomaly-detection'] },
});

export const asyncLaunches = remedy({
  id: 'async-launches',
  title: 'kernels launched without waiting',
  cost: 'free',
  risk: 'none',
  check: 'Results are the same. Errors of kernels are reported later than the call that caused them.',
  text: 'Remove CUDA_LAUNCH_BLOCKING once the error is found: every launch waits for its kernel.',
  plain: { lines: ['unset CUDA_LAUNCH_BLOCKING'] },
  usual: NONE,
});

export const profileOnce = remedy({
  id: 'profile-once',
  title: 'a profiler that records once, or not at all',
  cost: 'free',
  risk: 'none',
  check: 'Nothing in the training changes. Compare step times before and after.',
  text: 'Remove it from real runs, or let it record once.',
  plain: { lines: ['schedule=torch.profiler.schedule(wait=5, warmup=3, active=6, repeat=1)'] },
  usual: NONE,
});

export const lightProfiler = remedy({
  id: 'light-profiler',
  title: 'a trace without stacks, shapes and memory',
  cost: 'free',
  risk: 'none',
  check: 'Nothing in the training changes.',
  text: 'Record again without them. Turn one on when you need its answer.',
  plain: { lines: ['profile(..., with_stack=False, record_shapes=False, profile_memory=False)'] },
  usual: NONE,
});
