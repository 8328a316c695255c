import { formatCount, formatMs, ns, share } from '../../base/units.js';
import type { LogView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about, use } from '../../remedies/remedies.js';
import { SYNC } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { countEvidence, percentOfStep, silentBelow, timeEvidence } from '../kit/evidence.js';
import { isWorthwhile, LEAST_GAIN } from '../kit/price.js';
import { type AnyRule, found, type RuleResult, silent, threshold } from '../kit/rule.js';
import { anomalyChecks, priceWithoutReads, type Waits, waitsOf } from '../kit/waits.js';
import { has } from '../kit/work.js';

const METRICS = threshold('metrics phase', share(0.03), 'of the step', 'a smaller gain is within noise');
/** Rarer waits are of single steps. */
const EVERY_OTHER_STEP = 0.5;

export const rule: AnyRule = {
  reads: 'traces and logs',
  recurs: true,
  lines: /\.item\(|\.cpu\(|\.tolist\(|\.numpy\(|\bprint\(|\bfloat\(|\bbool\(|\bassert\b|isnan|synchronize/,
  unpriced: 'allowed',
  info: {
    id: 'host-sync',
    alias: 'T23',
    title: 'The host reads values back from the GPU inside the step',
    needs: 'trace or events',
    looksFor:
      'Reads of GPU values (.item(), .cpu(), nonzero) that leave the GPU without work; in event logs, a metrics phase that takes part of the step.',
    why: 'To read a value the host waits until the GPU has caught up. Then the queue is empty and the GPU waits for the host.',
    ...about('late-reads'),
    thresholds: [
      threshold(
        'gain of a step without reads',
        LEAST_GAIN,
        'times',
        'replay: a read that finds the GPU busy anyway costs nothing',
      ),
      METRICS,
    ],
  },
  check(view) {
    if (view.source === 'log') return metricsPhase(view);
    const waits = waitsOf(view);
    const count = waits.reads + waits.shapes + waits.copies + waits.other;
    if ((anomalyChecks(view)?.reads ?? 0) > count / 2) return silent('anomaly detection makes these reads');
    const price = count < EVERY_OTHER_STEP ? null : priceWithoutReads(view);
    if (!isWorthwhile(price)) return silent('no read of a GPU value holds up the step');
    const ofScaler = scalerReads(view);
    const mostlyScaler = ofScaler > count / 2;
    const text = `${wordsFor(waits)} per step${mostlyScaler ? `, ${Math.round(ofScaler) < Math.round(count) ? 'most' : 'all'} in scaler.step()` : ''}; without them the step is ${formatMs(ns(view.step.unprofiled - price.after))} shorter`;
    return found({
      id: 'host-sync',
      title: mostlyScaler
        ? 'GradScaler reads back from the GPU whether gradients are finite'
        : 'the host reads values back from the GPU inside the step',
      confidence: 0.88,
      addresses: 'host',
      evidence: [countEvidence(view, count, 'waits', text)],
      price,
      remedy: mostlyScaler
        ? use('fused-optimizer', { scaler: true })
        : waits.shapes > count / 2
          ? use('fixed-sizes', { cost: 'knob' })
          : use('late-reads'),
    });
  },
};

const wordsFor = (waits: Waits): string =>
  (
    [
      [waits.reads, 'read', 'reads', '(.item())'],
      [waits.shapes, 'result', 'results', 'whose size depends on data (nonzero, masks)'],
      [waits.copies, 'blocking copy', 'blocking copies', 'to the host (.cpu())'],
      [waits.other, 'other wait', 'other waits', '(synchronize)'],
    ] as const
  )
    .filter(([count]) => count >= EVERY_OTHER_STEP)
    .map(([count, one, many, what]) => `${formatCount(Math.round(count), one, many)} ${what}`)
    .join(', ');

/** A log of phases times the metrics of a step by themselves. */
function metricsPhase(view: LogView): RuleResult {
  const time = view.time.idle_sync;
  const small = silentBelow(view, time, METRICS, 'metrics are');
  if (small) return small;
  const text = `training_metrics: ${formatMs(time)} per step (${percentOfStep(view, time)})`;
  return found({
    id: 'metrics-in-step',
    title: 'metrics are computed and read inside the step',
    confidence: 0.7,
    addresses: 'host',
    evidence: [timeEvidence(view, time, text)],
    price: null,
  });
}

/**
 * How often per step `scaler.step()` reads whether gradients are finite: after they were divided by the scale, right before
 * the optimizer's first call.
 */
function scalerReads({ facts: { detail } }: TraceView): number {
  const plan = detail?.plan;
  if (!plan) return 0;
  const { kind, roles, length } = plan.nodes;
  let unscaled = false;
  let reads = 0;
  for (let n = 1; n < length; n++) {
    if (has(roles[n]!, Role.unscales)) unscaled = true;
    if (!unscaled || !has(roles[n]!, Role.optimizer)) continue;
    unscaled = false;
    if (kind[n - 1] === SYNC && has(roles[n - 1]!, Role.reads)) reads++;
  }
  return reads / plan.steps.length;
}
