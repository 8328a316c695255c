import { about } from '../../remedies/remedies.js';
import { removeCalls } from '../../replay/edits.js';
import type { Plan } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { countEvidence } from '../kit/evidence.js';
import { OUTSIDE_MODEL } from '../kit/fusable.js';
import { hostPerEvent } from '../kit/host.js';
import { priceOf } from '../kit/price.js';
import { found, silent, type TraceRule } from '../kit/rule.js';
import { anomalyChecks, NAN_CHECKS } from '../kit/waits.js';
import { has } from '../kit/work.js';

const inBackward = (roles: number) => has(roles, Role.backward);

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  smallGain: 'allowed',
  info: {
    id: 'anomaly-detection',
    alias: 'T12',
    title: 'Anomaly detection is left on',
    needs: 'trace or script',
    looksFor: 'aten::isnan and _is_any_true after every backward node (detect_anomaly).',
    why: 'Anomaly detection stores a Python stack for every forward operator, and reads a value back from the GPU after every backward one. This makes loops several times slower.',
    ...about('anomaly-off'),
    thresholds: [NAN_CHECKS],
  },
  check(view, { verdict }) {
    const added = anomalyChecks(view);
    if (!added) return silent('anomaly detection is off');
    const { checks, reads } = added;
    const of = view.facts.hasGpuWork ? 'kernels' : 'calls';
    const text = `aten::isnan and _is_any_true in backward: ${checks.toFixed(0)} ${of} and ${reads.toFixed(0)} reads per step`;
    return found({
      id: 'anomaly-detection',
      title: 'detect_anomaly is on: every backward node is checked for NaN',
      confidence: 0.95,
      // Without a GPU the checks are computing, too.
      addresses: verdict.bottleneck === 'compute' ? 'gpu' : 'host',
      evidence: [countEvidence(view, checks, of, text)],
      price: priceOf(view, (plan) => withoutAnomalyDetection(plan)),
    });
  },
};

/** Checks and reads go. Forward operators no longer store a stack each: they cost what backward operators cost. */
function withoutAnomalyDetection(plan: Plan): void {
  const { nodes } = plan;
  const isAdded = (n: number) =>
    inBackward(nodes.roles[n]!) && has(nodes.roles[n]!, Role.nanCheck | Role.reads);
  const perEvent = hostPerEvent(plan, (n) => inBackward(nodes.roles[n]!) && !isAdded(n));
  removeCalls(plan, isAdded);
  if (perEvent === 0) return;
  for (let n = 0; n < nodes.length; n++) {
    if (has(nodes.roles[n]!, Role.backward | OUTSIDE_MODEL)) continue;
    const cost = Math.max(0, perEvent * nodes.events[n]! - nodes.call[n]!);
    nodes.hostWork[n] = Math.min(nodes.hostWork[n]!, cost);
  }
}
