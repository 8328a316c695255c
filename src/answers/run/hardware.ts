import { formatCount, formatPercent, formatTime, formatWholePercent, share, toMs } from '../../base/units.js';
import type { Hardware, KernelUse, KindUse, WorkKind } from '../../diagnosis/ranks/hardware.js';

import { countersText } from './counters.js';

/** A smaller gain is within the noise of real runs. As in rules/kit/price.ts, with room for what the peaks leave out. */
export const LITTLE_LEFT = 1.05;
/** Of less of the GPU's time nothing is concluded. */
const ENOUGH_KNOWN = 0.8;
/** Smaller parts of the step are not worth a sentence. */
const WORTH_NAMING = 0.02;
const GAPS_MATTER = 0.01;

const NAMES: Readonly<Record<WorkKind, string>> = {
  products: 'matrix products',
  convolutions: 'convolutions',
  attention: 'attention',
  streaming: 'elementwise kernels and reductions',
};

/** Nothing promises to make the step much faster. `fixes`: likely gains of the findings. */
export const isDone = ({ reachable, unknown }: Hardware, fixes: readonly number[]): boolean =>
  reachable !== null &&
  reachable < LITTLE_LEFT &&
  unknown <= 1 - ENOUGH_KNOWN &&
  fixes.every((gain) => gain < LITTLE_LEFT);

/** How far a step is from what its device can do, as sentences without their full stop. `step`: ns. */
export function hardwareWords(hardware: Hardware, step: number, fixes: readonly number[]): string[] {
  const { kinds, rates, device, unknown, counters } = hardware;
  const sampled = counters ? [`The GPU’s counters while it computes: ${countersText(counters)}`] : [];
  if (kinds.length === 0)
    return [
      ...sampled,
      'To compare the kernels with the hardware, record their shapes: whyslow run --shapes -- … (or record_shapes=True)',
    ];
  return [
    sentence(
      kinds
        .filter((kind) => kind.time >= WORTH_NAMING * step)
        .map(kindText)
        .join('; '),
    ),
    ...sampled,
    rates
      ? `Peaks: ${rates.name}, ${rates.source}`
      : `The peaks of ${device ?? 'this device'} are not in whyslow’s table, so only the rates are known`,
    ...leftOver(hardware, step, fixes),
    ...(unknown >= WORTH_NAMING
      ? [
          `The shapes of ${formatWholePercent(unknown)} of the GPU’s time are not known${rates ? ', so it counts as it is' : ''}`,
        ]
      : []),
  ];
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function kindText(kind: KindUse): string {
  const ofPeak = kind.ofPeak === null ? '' : `, ${formatWholePercent(kind.ofPeak)} of the peak`;
  return `${NAMES[kind.kind]}${kind.precision === 'unknown' ? '' : ` in ${kind.precision}`} take ${formatTime(toMs(kind.time))} per step and reach ${rateText(kind)}${ofPeak}`;
}

const rateText = ({ kind, flopsPerSecond, bytesPerSecond }: KindUse) =>
  kind === 'streaming' ? bandwidthText(bytesPerSecond) : `${digits(flopsPerSecond / 1e12)} TFLOP/s`;
const bandwidthText = (perSecond: number) => `${digits(perSecond / 1e12)} TB/s`;
const digits = (n: number) => (n >= 100 ? n.toFixed(0) : n.toPrecision(2));

function leftOver(hardware: Hardware, step: number, fixes: readonly number[]): string[] {
  const { mfu, atMost, reachable, gaps, kinds } = hardware;
  if (atMost === null || reachable === null) return [];
  const between = gaps / step >= GAPS_MATTER ? ` (${formatTime(toMs(gaps))} of it is between kernels)` : '';
  const streaming = kinds.reduce((sum, k) => sum + (k.kind === 'streaming' ? k.time : 0), 0) / step;
  return [
    `${mfu === null ? '' : `The arithmetic would take ${formatPercent(mfu)} of the step at the peak (MFU). `}The same kernels could make the step at most ×${atMost.toFixed(2)} faster${between}, and about ×${reachable.toFixed(2)} at the rates that good kernels reach`,
    ...(isDone(hardware, fixes)
      ? [
          'You are done here: no fix and no kernel promises 5%. What is left takes another model, number format, batch or device',
        ]
      : streaming > 1 - 1 / LITTLE_LEFT
        ? [
            `Fusing kernels (torch.compile) may also remove part of the ${formatWholePercent(share(streaming))} of the step that elementwise kernels and reductions take`,
          ]
        : []),
  ];
}

/** `aten::mm 8944×1024 · 1024×2816: 4.05 ms per step, 48 calls, 610 TFLOP/s, 62% of what arithmetic allows`. */
export function kernelText(use: KernelUse, over = 'per step'): string {
  const { operator, kernel, shapes, time, calls, flopsPerSecond, bytesPerSecond, bound, ofLimit } = use;
  const rate =
    flopsPerSecond !== null && bound !== 'memory'
      ? `${digits(flopsPerSecond / 1e12)} TFLOP/s`
      : bytesPerSecond !== null
        ? bandwidthText(bytesPerSecond)
        : null;
  const limit =
    ofLimit === null
      ? null
      : `${formatWholePercent(ofLimit)} of the ${bound === 'compute' ? 'peak' : 'bandwidth'}`;
  const name = [operator ?? kernel.slice(0, LONGEST_NAME), shapes].filter(Boolean).join(' ');
  const parts = [`${formatTime(toMs(time))} ${over}`, `${formatCalls(calls)}`, rate, limit];
  return `${name}: ${parts.filter(Boolean).join(', ')}`;
}

const LONGEST_NAME = 60;
const formatCalls = (calls: number) =>
  formatCount(calls < 10 ? Number(calls.toFixed(1)) : Math.round(calls), 'call');
