import { formatCount, formatMs, ns, share } from '../../base/units.js';
import type { LogView } from '../../diagnosis/ranks/rank-view.js';
import { countEvidence, percentOfStep, silentBelow, timeEvidence } from '../kit/evidence.js';
import { FUSED_WITH_SCALER, scalerReads } from '../kit/grad-scaler.js';
import { isWorthwhile, LEAST_GAIN } from '../kit/price.js';
import { type AnyRule, found, type RuleResult, silent, threshold } from '../kit/rule.js';
import { anomalyChecks, FIXED_SIZES, priceWithoutReads, type Waits, waitsOf } from '../kit/waits.js';

const METRICS = threshold('metrics phase', share(0.03), 'of the step', 'a smaller gain is within noise');
/** Rarer waits are of single steps. */
const EVERY_OTHER_STEP = 0.5;

export const rule: AnyRule = {
  reads: 'traces and logs',
  lines: /\.item\(|\.cpu\(|\.tolist\(|\.numpy\(|\bprint\(|\bfloat\(|\bbool\(|\bassert\b|isnan|synchronize/,
  unpriced: 'allowed',
  info: {
    id: 'host-sync',
    alias: 'T23',
    title: 'The host reads values back from the GPU inside the step',
    needs: 'trace or events',
    looksFor:
      'Reads of GPU values (.item(), .cpu(), nonzero) after which the GPU runs dry; in event logs, a metrics phase that takes part of the step.',
    why: 'To read a value the host waits until the GPU has caught up. Then the queue is empty and the GPU waits for the host.',
    fix: {
      text: 'Take reads out of the step: log every N steps, keep values on the GPU, read one step late.',
      code: 'losses.append(loss.detach())               # no .item() in the step\nif step % 100 == 0:\n    print(torch.stack(losses).mean().item())',
    },
    check:
      'Logged values must be the same ones, only later. Code that branches on a value (NaN checks, clipping by hand) must stay on the GPU: torch.where.',
    cost: 'knob',
    risk: 'none',
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
      ...(mostlyScaler
        ? { fix: FUSED_WITH_SCALER, risk: 'numerics' as const }
        : { fix: waits.shapes > count / 2 ? FIXED_SIZES : rule.info.fix }),
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
