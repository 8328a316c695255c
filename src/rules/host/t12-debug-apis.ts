import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { removeCalls } from '../../replay/edits.js';
import type { Plan } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { evidence, inMs, ms, percent, priceOf, silent, workTime, worthwhile } from '../kit/kit.js';
import type { RankFinding, TraceRule } from '../kit/rule.js';

/** Anomaly detection checks every backward node; models check a loss or two. */
const CHECKS = 10;

const isNanCheck = (roles: number) => (roles & Role.nanCheck) !== 0 && (roles & Role.backward) !== 0;
const isZeroGrad = (roles: number) => (roles & Role.zeroGrad) !== 0;

export const debugApis: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T12',
    title: 'A debugging aid is left on',
    needs: 'trace or script',
    looksFor:
      'aten::isnan and _is_any_true after every backward node (detect_anomaly); gradients filled with zeros at a cost that shows (zero_grad(set_to_none=False)).',
    why: 'Anomaly detection stores a Python stack for every forward operator, and reads a value back from the GPU after every backward one: loops get several times slower.',
    fix: { text: 'Turn it off outside debugging.', code: 'torch.autograd.set_detect_anomaly(False)' },
    check:
      'Nothing changes in the result. Keep a cheap guard instead: torch.isfinite(loss) every few hundred steps.',
    cost: 'free',
    risk: 'none',
    thresholds: [
      {
        name: 'NaN checks in backward',
        value: CHECKS,
        unit: 'a step',
        source: 'anomaly detection makes one for every node',
      },
      {
        name: 'zero-fill',
        value: 3,
        unit: '% of the step',
        source: 'zoo zero_fill: 0.4 %, not worth naming',
      },
    ],
  },
  check(view) {
    const checks = workTime(view, (_, roles) => isNanCheck(roles));
    if (checks.count >= CHECKS) return { findings: [anomalyDetection(view, checks)] };
    const zeros = workTime(view, (k, roles) => isZeroGrad(roles) && k.class !== 'copy');
    if (zeros.count === 0) return silent('no debugging aid was seen');
    const price = priceOf(view, (plan) => removeCalls(plan, (n) => isZeroGrad(plan.nodes.roles[n]!)));
    if (!worthwhile(price))
      return silent(`filling gradients with zeros costs ${percent(zeros.ns / view.step)} of the step`);
    return {
      findings: [
        {
          id: 'zero-fill',
          title: 'gradients are filled with zeros instead of dropped',
          confidence: 0.9,
          addresses: view.time.compute > 0.5 * view.step ? 'gpu' : 'host',
          evidence: [
            evidence(
              view,
              `zero_grad launches ${zeros.count.toFixed(0)} kernels a step, ${ms(zeros.ns)}`,
              inMs(zeros.ns),
              'ms/step',
            ),
          ],
          price,
          fix: {
            text: 'Drop gradients instead of filling them.',
            code: 'optimizer.zero_grad(set_to_none=True)',
          },
        },
      ],
    };
  },
};

function anomalyDetection(view: TraceView, checks: { ns: number; count: number }): RankFinding {
  const reads = workTime(view, (_, roles) => (roles & Role.reads) !== 0 && (roles & Role.backward) !== 0);
  return {
    id: 'anomaly-detection',
    title: 'detect_anomaly is on: every backward node is checked for NaN',
    confidence: 0.95,
    addresses: 'host',
    evidence: [
      evidence(
        view,
        `aten::isnan and _is_any_true in backward: ${checks.count.toFixed(0)} kernels and ${reads.count.toFixed(0)} reads a step`,
        Math.round(checks.count),
        'kernels/step',
      ),
    ],
    price: priceOf(view, (plan) => withoutAnomalyDetection(plan)),
  };
}

/** Without checks and reads; and forward's operators no longer store a stack each: they cost what backward's cost. */
function withoutAnomalyDetection(plan: Plan): void {
  const { nodes } = plan;
  const inBackward = (n: number) => (nodes.roles[n]! & Role.backward) !== 0;
  const added = (n: number) => inBackward(n) && (nodes.roles[n]! & (Role.nanCheck | Role.reads)) !== 0;
  const plain = { host: 0, events: 0 };
  for (let n = 0; n < nodes.length; n++) {
    if (!inBackward(n) || added(n)) continue;
    plain.host += nodes.hostWork[n]! + nodes.call[n]!;
    plain.events += nodes.events[n]!;
  }
  removeCalls(plan, added);
  if (plain.events === 0) return;
  const perEvent = plain.host / plain.events;
  for (let n = 0; n < nodes.length; n++) {
    if (inBackward(n) || (nodes.roles[n]! & (Role.optimizer | Role.zeroGrad | Role.data)) !== 0) continue;
    nodes.hostWork[n] = Math.min(
      nodes.hostWork[n]!,
      Math.max(0, perEvent * nodes.events[n]! - nodes.call[n]!),
    );
  }
}
