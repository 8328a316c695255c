import { formatMs, type Ns, share } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about, use } from '../../remedies/remedies.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { Role } from '../../traces/detail/roles.js';
import { atKernel, percentOfStep, silentBelow, timeEvidence } from '../kit/evidence.js';
import { isBatchNorm } from '../kit/fusable.js';
import { operatorsOf } from '../kit/host.js';
import { isWorthwhile, priceOf } from '../kit/price.js';
import {
  found,
  type Levels,
  type Price,
  silent,
  type TraceRule,
  threshold,
  WITHIN_NOISE,
} from '../kit/rule.js';
import { editWork, has, kernelTime, REMOVED, topKernel, type WorkTest, workTime } from '../kit/work.js';

const TRANSPOSES = threshold('transposes', share(0.02), 'of the step', WITHIN_NOISE);
/** Batch norms are named with the transposes from this share of the step on. */
const NORMS = 0.05;
/** 16-bit batch norm in NCHW takes torch's own kernels, and their variants for NHWC take less (zoo: 0.23 to 0.28 of the time). */
const NORM_LEFT: Levels = { low: 1, likely: 0.35, high: 0.25 };
/**
 * What channels_last adds for a norm that works on NCHW memory only, for each ns of that norm: copies before and after it, and
 * what mixed layouts cost in addition. Zoo `unet_groupnorm` and `_nhwc`, the only pair: 2.6. The four copies of forward and
 * backward alone move as much as the norm does.
 */
const NORM_COPIES: Levels = { low: 4, likely: 2.6, high: 1 };

const isTranspose = (k: KernelTotal) => /nchwToNhwc|nhwcToNchw/i.test(k.name.slice(0, 300));
/** cuDNN's own kernels for NCHW are fast already. */
const isSlowNorm = (k: KernelTotal) =>
  isBatchNorm(k) &&
  (k.precision === 'bf16' || k.precision === 'fp16') &&
  k.layout !== 'nhwc' &&
  !/cudnn/.test(k.name.slice(0, 300));

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'nchw-convolutions',
    alias: 'T11',
    title: 'Convolutions run in NCHW and are transposed for the tensor cores',
    needs: 'trace',
    looksFor:
      'nchwToNhwc and nhwcToNchw kernels around convolutions, 16-bit batch norms in NCHW. It does not apply if group or instance norms would add as many copies.',
    why: 'Tensor cores convolve in NHWC. With NCHW tensors cuDNN transposes every input and output, and 16-bit batch norm falls back to slower kernels.',
    ...about('channels-last'),
    thresholds: [TRANSPOSES],
  },
  check(view) {
    const convolutions = kernelTime(view, (k) => k.class === 'conv');
    if (convolutions === 0) return silent('no convolutions');
    const transposes = kernelTime(view, isTranspose);
    const small = silentBelow(view, transposes, TRANSPOSES, 'transposes are');
    if (small) return small;
    const { oneD, threeD, all } = dimensionsOf(view);
    if (oneD > all / 2) return silent('1-D convolutions have no channels_last');
    const copying = workTime(view, copyingNorms(view)).ns;
    if (copying * NORM_COPIES.likely >= transposes) return silent(outweighed(copying, transposes));
    const price = threeD > 0 ? null : priceOfChannelsLast(view);
    if (copying > 0 && price && !isWorthwhile(price)) return silent(outweighed(copying, transposes));
    const norms = kernelTime(view, isSlowNorm);
    const more =
      norms > NORMS * view.step.unprofiled ? `; 16-bit batch norms in NCHW take ${formatMs(norms)}` : '';
    const text = `nchwToNhwc/nhwcToNchw: ${formatMs(transposes)} per step (${percentOfStep(view, transposes)}), convolutions themselves ${formatMs(convolutions)}${more}`;
    return found({
      id: 'nchw-convolutions',
      title: 'convolutions transpose NCHW tensors back and forth',
      confidence: 0.93,
      addresses: 'gpu',
      evidence: [atKernel(topKernel(view, isTranspose), timeEvidence(view, transposes, text))],
      // The gain of channels_last_3d was not measured.
      price,
      remedy: use('channels-last', { dimensions: threeD > all / 2 ? 3 : 2 }),
    });
  },
};

const outweighed = (norms: Ns, transposes: Ns) =>
  `group and instance norms (${formatMs(norms)}) work on NCHW memory only: channels_last would copy before and after each, which costs more than the transposes (${formatMs(transposes)})`;

function priceOfChannelsLast(view: TraceView): Price | null {
  const copies = copyingNorms(view);
  return priceOf(view, (plan, level) => {
    editWork(view, plan, isTranspose, () => REMOVED);
    editWork(
      view,
      plan,
      (k, roles) => isSlowNorm(k) && !copies(k, roles),
      ({ ns }) => ns * NORM_LEFT[level],
    );
    editWork(view, plan, copies, ({ ns }) => ns * (1 + NORM_COPIES[level]));
  });
}

/**
 * Norms that work on NCHW memory only. An instance norm is a batch norm of a reshaped tensor: in backward nothing tells the
 * two apart, so there all count as what most of them are.
 */
function copyingNorms(view: TraceView): WorkTest {
  const mostlyInstance = callsOf(view, /^aten::instance_norm$/) > callsOf(view, /^aten::batch_norm$/) / 2;
  return (k, roles) =>
    k.class === 'norm' && (has(roles, Role.nchwNorm) || (mostlyInstance && isBatchNorm(k)));
}

/** Calls of convolutions, by their dimensions. */
function dimensionsOf(view: TraceView) {
  const of = (d: string) => callsOf(view, new RegExp(`^aten::conv(?:_transpose)?${d}d$`));
  return { oneD: of('1'), threeD: of('3'), all: of('[123]') };
}

const callsOf = (view: TraceView, name: RegExp) =>
  operatorsOf(view).reduce((sum, o) => sum + (name.test(o.name) ? o.count : 0), 0);
