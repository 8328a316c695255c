import { median } from '../../base/statistics.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { type CollectiveKind, Kind } from '../../facts/rank-collectives.js';
import { evidence, inMs, ms, percent } from '../kit/kit.js';
import type { RankFinding } from '../kit/rule.js';

/** What T23 says about collectives: not hidden, too small, not prefetched, or searched for in vain. */

/** Of the step (TensorBoard plugin: communication 10 %). */
export const EXPOSED = 0.1;
/** Below a megabyte a collective is all latency: NCCL reaches half of its bandwidth at a few (nccl-tests). */
const SMALL_BYTES = 1e6;
const MANY = 30;
const GATHERS: readonly CollectiveKind[] = ['all_gather'];

export function communication(view: RankView, run: RunFacts): RankFinding[] {
  return [...unusedParameters(view), ...exposedCollectives(view, run)];
}

function exposedCollectives(view: RankView, { across }: RunFacts): RankFinding[] {
  const { comms_transfer, comms_wait, idle_comms } = view.time;
  const exposed = comms_transfer + comms_wait + idle_comms;
  if (exposed < EXPOSED * view.step) return [];
  const overlap = view.source === 'trace' ? (view.facts.gpu?.commOverlap ?? null) : null;
  const hidden =
    overlap === null ? '' : `, ${percent(overlap)} of communication is hidden behind computation`;
  const waiting = comms_wait > 0 ? `, ${ms(comms_wait)} of it waiting for other ranks` : '';
  const played = across?.overlap ?? null;
  const most = ` With full overlap the step would be ${played === null ? `up to ${ms(comms_transfer + idle_comms)}` : ms(played)} shorter.`;
  const seen = evidence(
    view,
    `${ms(exposed)} a step (${percent(exposed / view.step)}) goes to exposed communication${waiting}${hidden}`,
    inMs(exposed),
    'ms/step',
  );
  const base = { confidence: 0.8, addresses: 'comms' as const, price: null };
  const small = smallCollectives(view);
  if (small) {
    return [
      {
        ...{ ...base, id: 'small-collectives', title: 'gradients are reduced in many small pieces' },
        evidence: [seen, evidence(view, small.text, small.count, 'collectives/step')],
        fix: {
          text: `Reduce gradients in fewer, larger buckets, as views of them.${most}`,
          code: 'DDP(model, bucket_cap_mb=100, gradient_as_bucket_view=True)',
        },
      },
    ];
  }
  const gathers = exposedOf(view, GATHERS);
  if (gathers > 0.5 * exposed) {
    return [
      {
        ...{ ...base, id: 'no-prefetch', title: 'parameters are gathered when they are needed, not before' },
        evidence: [seen, evidence(view, `all_gather: ${ms(gathers)} a step of it`, inMs(gathers), 'ms/step')],
        fix: {
          text: `Gather the next layer’s parameters while this one computes, in both directions.${most}`,
          code: 'FSDP(..., forward_prefetch=True,\n     backward_prefetch=BackwardPrefetch.BACKWARD_PRE)\n# FSDP2: layer.set_modules_to_forward_prefetch([next_layer])',
        },
      },
    ];
  }
  return [
    {
      ...{ ...base, id: 'exposed-collectives', title: 'collectives run with no computation beside them' },
      evidence: [seen],
      fix: {
        text: `Give communication something to hide behind: larger DDP buckets, gradients as views of them; with FSDP prefetch in both directions; more work per step (accumulation with no_sync).${most}`,
        code: 'DDP(model, bucket_cap_mb=100, gradient_as_bucket_view=True)\nFSDP(..., backward_prefetch=BackwardPrefetch.BACKWARD_PRE,\n     forward_prefetch=True)',
      },
    },
  ];
}

/** ns a step of exposed collectives of some kinds. */
function exposedOf({ facts }: RankView, kinds: readonly CollectiveKind[]): number {
  const { collectives } = facts;
  if (!collectives || collectives.steps.length === 0) return 0;
  const wanted = kinds.map((k) => Kind[k]);
  const sum = collectives.exposed.reduce(
    (ns, e, i) => ns + (wanted.includes(collectives.kind[i]!) ? e : 0),
    0,
  );
  return sum / collectives.steps.length;
}

function smallCollectives({ facts }: RankView): { text: string; count: number } | null {
  const { collectives } = facts;
  if (!collectives || collectives.steps.length === 0) return null;
  const reduces = [...collectives.bytes].filter((b, i) => collectives.kind[i] === Kind.all_reduce && b > 0);
  const count = Math.round(reduces.length / collectives.steps.length);
  const typical = median(reduces);
  if (count < MANY || !(typical < SMALL_BYTES)) return null;
  return { count, text: `${count} all_reduces a step, ${(typical / 1e3).toFixed(0)} kB in the middle` };
}

/** DDP looks through the whole graph every step for parameters that got no gradient. */
function unusedParameters(view: RankView): RankFinding[] {
  const detail = view.source === 'trace' ? view.facts.detail : null;
  const search = detail?.operators.find((o) => /search_unused_parameters/.test(o.name));
  if (!detail || !search) return [];
  const ns = search.total / detail.steps;
  return [
    {
      id: 'find-unused-parameters',
      title: 'DDP searches for unused parameters every step',
      confidence: 0.9,
      addresses: 'comms',
      evidence: [evidence(view, `${search.name}: ${ms(ns)} a step`, inMs(ns), 'ms/step')],
      price: null,
      cost: 'knob',
      fix: {
        text: 'Turn the search off when every parameter takes part in the loss; with a graph that never changes, static_graph finds the others once.',
        code: 'DDP(model, find_unused_parameters=False)\n# or: DDP(model, static_graph=True)',
      },
    },
  ];
}
