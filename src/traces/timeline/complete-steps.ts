import { partitionPoint } from '../../base/search.js';
import { Category } from '../../model/category.js';
import type { HostStep } from '../../model/steps.js';
import type { Trace } from '../../model/trace.js';
import { NO_ID } from '../../model/trace-data.js';

type Span = Pick<HostStep, 'startNs' | 'endNs'>;

/** Operators that start GPU work whenever they run. What others start depends on their tensors. */
const ALWAYS_STARTS_WORK =
  /^aten::(?:mm|addmm|bmm|baddbmm|convolution_backward|(?:cudnn|miopen)_convolution|(?:native|cudnn|miopen)_(?:layer|batch|group)_norm(?:_backward)?|_(?:log_)?softmax(?:_backward_data)?|_(?:flash|efficient|cudnn)_attention_(?:forward|backward)|gelu(?:_backward)?|threshold_backward|embedding_dense_backward|_fused_\w+)$/;

/** A step that lacks more of its calls is not whole. Our choice: as much as a figure may be off. */
const MOST_LOST = 0.05;

/**
 * In a truncated file, the longest run of complete steps. Events are missing anywhere in time: the
 * profiler writes operators first, then CUDA calls and GPU work, thread by thread. So a step is judged by its operators:
 * those that start GPU work elsewhere must do so here.
 */
export function completeSteps<S extends Span>(trace: Trace, steps: readonly S[]): readonly S[] {
  if (trace.links.work.length === 0) return trace.data.header.devices.length > 0 ? [] : steps;
  const lost = lostShares(trace, steps);
  let [best, from] = [steps.slice(0, 0), 0];
  steps.forEach((_, s) => {
    if (lost[s]! > MOST_LOST) from = s + 1;
    else if (s + 1 - from > best.length) best = steps.slice(from, s + 1);
  });
  return best;
}

/** For each step, the share of its operators that should have started GPU work and did not. */
function lostShares(trace: Trace, steps: readonly Span[]): number[] {
  const { ts, external, name } = trace.data;
  const startsWork = idsWithWork(trace);
  const byName = new Map<number, OfName>();
  for (const row of trace.index.ofKinds((k) => k.category === Category.cpuOp)) {
    const s = partitionPoint(steps.length, (k) => steps[k]!.startNs <= ts[row]!) - 1;
    if (external[row] === NO_ID || s < 0 || ts[row]! > steps[s]!.endNs) continue;
    const counts = byName.get(name[row]!) ?? noneOf(steps.length);
    byName.set(name[row]!, counts);
    counts.all[s]!++;
    if (startsWork.has(external[row]!)) counts.withWork[s]!++;
  }
  const expected = new Float64Array(steps.length);
  const found = new Float64Array(steps.length);
  for (const [id, { all, withWork }] of byName) {
    const usual = ALWAYS_STARTS_WORK.test(trace.strings.text(id))
      ? 1
      : all.reduce((most, n, s) => (n > 0 ? Math.max(most, withWork[s]! / n) : most), 0);
    for (let s = 0; s < steps.length; s++) {
      expected[s]! += usual * all[s]!;
      found[s]! += Math.min(withWork[s]!, usual * all[s]!);
    }
  }
  return steps.map((_, s) => (expected[s]! > 0 ? 1 - found[s]! / expected[s]! : 0));
}

interface OfName {
  readonly all: Uint32Array;
  readonly withWork: Uint32Array;
}

const noneOf = (steps: number): OfName => ({
  all: new Uint32Array(steps),
  withWork: new Uint32Array(steps),
});

/** External ids of operators with GPU work that was recorded. */
function idsWithWork(trace: Trace): ReadonlySet<number> {
  const { work, launch } = trace.links;
  const { external } = trace.data;
  const ids = new Set<number>();
  for (let i = 0; i < work.length; i++) {
    const own = external[work[i]!]!;
    ids.add(own === NO_ID && launch[i]! >= 0 ? operatorAround(trace, launch[i]!) : own);
  }
  return ids;
}

/** External id of the operator that made a call: traces in Perfetto's own format have none for GPU work. */
function operatorAround(trace: Trace, call: number): number {
  const { parent } = trace.calls;
  for (let row = parent[call]!; row >= 0; row = parent[row]!)
    if (trace.category(row) === Category.cpuOp) return trace.data.external[row]!;
  return NO_ID;
}
