import { firstMatch, type KernelKind, type NameRule, type Pass } from './kernel-kind.js';

/**
 * Backward first: a kernel that fuses both (Inductor, recomputation) runs in the backward pass. cuDNN's dgrad is also
 * the forward of a transposed convolution, which names cannot tell.
 */
const PASSES: readonly NameRule<Pass>[] = [
  { test: /backward|bwd|bprop|[dw]grad|bn_bw|fmha_cutlassB/i, is: 'backward' },
  { test: /GammaBeta|GradInput|grad_input|grad_weight|_dq_|dot_do_o/, is: 'backward' },
  { test: /forward|fwd|fprop|bn_fw|fmha_cutlassF/i, is: 'forward' },
];

export function passOf(name: string): Pass {
  return firstMatch(PASSES, name) ?? 'unknown';
}

/** xmma writes the formats of its input with filter, then of its output: `nhwckrsc_nhwc`. */
const LAYOUTS: readonly NameRule<'nchw' | 'nhwc'>[] = [
  { test: /nhwckrsc_nchw/, is: 'nchw' },
  { test: /nhwc|channels_last|NHWC/, is: 'nhwc' },
  { test: /nchw|NCHW/, is: 'nchw' },
];

/** Null for kernels that convert between the two, whatever their name says. */
export function layoutOf(name: string, workClass: KernelKind['class']): KernelKind['layout'] {
  return workClass === 'layout' ? null : (firstMatch(LAYOUTS, name) ?? null);
}
