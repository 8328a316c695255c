import type { LogView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import { removeOperators, skipWaits } from '../../replay/edits.js';
import { type Plan, SYNC } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { copiesToHost, evidence, inMs, ms, percent, priceOf, silent, worthwhile } from '../kit/kit.js';
import type { AnyRule, RankFinding } from '../kit/rule.js';
import { communication, EXPOSED } from './communication.js';

const isRead = (roles: number) => (roles & Role.reads) !== 0 && (roles & Role.nanCheck) === 0;
const dependsOnData = (roles: number) => (roles & Role.sizesFromData) !== 0;

export const syncsAndCollectives: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'T23',
    title: 'The step waits: the host reads values back, or collectives are not overlapped',
    needs: 'trace or events (all ranks better)',
    looksFor:
      'Reads of GPU values (.item(), .cpu(), nonzero) after which the GPU runs dry; communication kernels with no computation beside them.',
    why: 'To read a value the host waits until the GPU has caught up; then the queue is empty and the GPU waits for the host. Exposed collectives are time in which no rank computes.',
    fix: {
      text: 'Take reads out of the step: log every N steps, keep values on the GPU, read one step late. For collectives: larger buckets, views instead of copies, prefetch.',
      code: 'losses.append(loss.detach())               # no .item() in the step\nif step % 100 == 0:\n    print(torch.stack(losses).mean().item())',
    },
    check:
      'Logged values must be the same ones, only later. Code that branches on a value (NaN checks, clipping by hand) must stay on the GPU: torch.where.',
    cost: 'knob',
    risk: 'none',
    thresholds: [
      {
        name: 'gain of a step without reads',
        value: 3,
        unit: '% of the step',
        source: 'replay: a read that finds the GPU busy anyway costs nothing',
      },
      {
        name: 'exposed collectives',
        value: EXPOSED,
        unit: 'of the step',
        source: 'TensorBoard plugin: communication 10 %',
      },
    ],
  },
  check(view, run) {
    const findings = [
      ...(view.source === 'log' ? metricsPhase(view) : hostReads(view)),
      ...communication(view, run),
    ];
    return findings.length > 0 ? { findings } : silent('no read or collective holds up the step');
  },
};

function hostReads(view: TraceView): RankFinding[] {
  const plan = view.facts.detail?.plan;
  if (!plan) return [];
  const waits = countWaits(plan);
  if (waits.count < 0.5) return [];
  const price = priceOf(view, withoutReads);
  if (!worthwhile(price)) return waits.shapes >= MANY_SHAPES ? [shapesFromData(view, waits.shapes)] : [];
  const what = [
    waits.reads >= 0.5 ? `${waits.reads.toFixed(0)} reads (.item())` : '',
    waits.shapes >= 0.5
      ? `${waits.shapes.toFixed(0)} results whose size depends on data (nonzero, masks)`
      : '',
    waits.copies >= 0.5 ? `${waits.copies.toFixed(0)} copies to the host that are waited for (.cpu())` : '',
    waits.other >= 0.5 ? `${waits.other.toFixed(0)} other waits (synchronize)` : '',
  ].filter((t) => t !== '');
  return [
    {
      id: 'host-sync',
      title: 'the host reads values back from the GPU inside the step',
      confidence: 0.88,
      addresses: 'host',
      evidence: [
        evidence(
          view,
          `${what.join(', ')} a step; without them the step is ${ms(view.step - price.after)} shorter`,
          Math.round(waits.count),
          'waits/step',
        ),
      ],
      price,
    },
  ];
}

/** Fewer are gone with the next rewrite; so many are a way of writing the model. */
const MANY_SHAPES = 4;

/** The waits themselves cost little here, but shapes that depend on values keep a model from being compiled as a whole. */
function shapesFromData(view: TraceView, count: number): RankFinding {
  const text = `${count.toFixed(0)} results a step whose size depends on data (nonzero, boolean masks): the host waits for each`;
  return {
    id: 'shapes-from-data',
    title: 'shapes depend on values: the host waits for each, and nothing can be captured',
    confidence: 0.7,
    addresses: 'host',
    evidence: [evidence(view, text, Math.round(count), 'waits/step')],
    price: null,
    cost: 'code',
    fix: {
      text: 'Give results a fixed size: pad to a capacity, multiply by the mask instead of selecting with it, sort once instead of nonzero for each part.',
      code: 'out = torch.where(mask[..., None], expert(x), 0)      # not x[mask]\nidx = scores.topk(capacity, dim=0).indices            # fixed size',
    },
  };
}

const METRICS = 0.03;

/** A log of phases times the metrics of a step by themselves. */
function metricsPhase(view: LogView): RankFinding[] {
  const ns = view.time.idle_sync;
  if (ns < METRICS * view.step) return [];
  const text = `training_metrics: ${ms(ns)} a step (${percent(ns / view.step)})`;
  return [
    {
      ...{ id: 'metrics-in-step', title: 'metrics are computed and read inside the step', confidence: 0.7 },
      ...{ addresses: 'host', evidence: [evidence(view, text, inMs(ns), 'ms/step')], price: null },
    },
  ];
}

/** Copies of batches to the device make the host wait too; those are T6's. */
function isWait(plan: Plan, n: number): boolean {
  const { nodes } = plan;
  if (nodes.kind[n] === SYNC) {
    const streams = plan.streamBusyUntil.length;
    return nodes.awaited.subarray(n * streams, (n + 1) * streams).some((w) => w >= 0);
  }
  return copiesToHost(plan, n) && nodes.waitsFor[n]! >= 0;
}

function countWaits(plan: Plan) {
  const { nodes, steps } = plan;
  let reads = 0;
  let shapes = 0;
  let other = 0;
  let copies = 0;
  for (let n = 0; n < nodes.length; n++) {
    const roles = nodes.roles[n]!;
    if ((roles & (Role.data | Role.nanCheck)) !== 0 || !isWait(plan, n)) continue;
    if (nodes.kind[n] !== SYNC) copies++;
    else if (isRead(roles)) reads++;
    else if (dependsOnData(roles)) shapes++;
    else other++;
  }
  const per = (count: number) => count / steps.length;
  return {
    ...{ reads: per(reads), shapes: per(shapes), other: per(other), copies: per(copies) },
    count: per(reads + shapes + other + copies),
  };
}

/** Scalars are not read; sizes are known beforehand (padding, capacity), so nothing waits for them. */
function withoutReads(plan: Plan): void {
  const { nodes } = plan;
  removeOperators(plan, (n) => isRead(nodes.roles[n]!) || (copiesToHost(plan, n) && nodes.waitsFor[n]! >= 0));
  skipWaits(plan, (n) => (nodes.roles[n]! & Role.data) === 0 && isWait(plan, n));
}
