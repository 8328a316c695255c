import { fullest, gpuName, memoryInWords, size } from '../../answers/kit/memory-words.js';
import { formatMs, ns, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { MemoryFacts, MemoryKind, RankMemory } from '../../diagnosis/run-evidence.js';
import { about, use } from '../../remedies/remedies.js';
import { evidenceOf } from '../kit/evidence.js';
import { costOf } from '../kit/memory-costs.js';
import { LEAST_GAIN } from '../kit/price.js';
import { found, type RankFinding, type RunRule, silent, threshold } from '../kit/rule.js';

const LARGE = threshold('one cause', share(0.1), 'of the memory in use', 'less does not change what fits');
const MOST = threshold(
  'optimizer state',
  share(0.25),
  'of the memory in use',
  'less than that is not the first to shrink',
);

export const rule: RunRule = {
  reads: 'run',
  unpriced: 'allowed',
  servesToo: true,
  info: {
    id: 'memory-use',
    alias: 'T22',
    title: 'What holds the GPU’s memory at its peak, and what frees it',
    needs: 'a memory snapshot (whyslow run --memory, or torch.cuda.memory._dump_snapshot)',
    looksFor:
      'The largest sum of allocations, or the allocation that failed: what holds it by kind and line, what grows from step to step, and memory that is reserved but in pieces that are too small.',
    why: 'Memory decides how large a micro-batch can be, and a job that runs out ends. A snapshot has the stack of every allocation.',
    ...about('checkpoint-blocks'),
    thresholds: [LARGE, MOST],
  },
  check({ evidence: { memory }, ranks }) {
    const worst = fullest(memory);
    if (!worst) return silent('no memory snapshot');
    // A snapshot whose name shows no rank belongs to the only one.
    const view = ranks.find((r) => r.rank === worst.rank) ?? (ranks.length === 1 ? ranks[0] : undefined);
    const made = [fragmented, growing, logits, attention, activations, optimizerState].flatMap(
      (make) => make(worst.facts, view) ?? [],
    );
    const findings = made.length > 0 ? made : [plain(worst, memory)];
    return found(
      ...findings.map((f) => ({
        ...f,
        confidence: 0.8,
        addresses: null,
        price: null,
        ranks: worst.rank === null ? [] : [worst.rank],
        evidence: f.evidence.map((text) => evidenceOf(worst.rank, text)),
      })),
    );
  },
};

type Made = Pick<RankFinding, 'id' | 'title' | 'remedy' | 'note'> & { readonly evidence: readonly string[] };

function plain(worst: RankMemory, all: readonly RankMemory[]): Made {
  const who = gpuName(worst, all);
  return {
    id: 'memory-use',
    title: memoryInWords(worst, all),
    evidence: worst.facts.at.parts.map((p) => `${p.kind}${who && ` of ${who}`}: ${size(p.bytes)}`),
    remedy: use('checkpoint-blocks'),
  };
}

/** Unused memory that an allocation could not get, or that is more than half of what is in use. */
function fragmented({ at, oom, expandableSegments }: MemoryFacts): Made | null {
  if (!oom?.isFragmented || expandableSegments) return null;
  const unused = size(at.reserved - at.allocated);
  return {
    id: 'memory-fragmented',
    title: `${unused} were reserved but free in pieces too small for the ${size(oom.asked)} that were asked for`,
    evidence: [
      `${size(at.allocated)} of ${size(at.reserved)} reserved were in use when the allocation at ${oom.at} failed`,
    ],
    remedy: use('expandable-segments'),
    note: ` That makes up to ${unused} usable, at no cost in time.`,
  };
}

function growing({ growth }: MemoryFacts): Made | null {
  const [first] = growth;
  if (!first) return null;
  const sum = growth.reduce((total, g) => total + g.bytesPerStep, 0);
  return {
    id: 'memory-growth',
    title: `memory grows by ${size(sum)} with every step`,
    evidence: growth.map(
      (g) => `${size(g.bytesPerStep)} per step, made at ${g.at}, kept in each of ${g.steps} steps`,
    ),
    remedy: use('let-go'),
    note: ` That frees ${size(sum)} per step, at no cost in time.`,
  };
}

/** Bytes and lines at which something is held. */
function heldBy({ at }: MemoryFacts, kinds: readonly MemoryKind[], is: RegExp) {
  const lines = at.parts.flatMap((p) => (kinds.includes(p.kind) ? p.lines.filter((l) => is.test(l.at)) : []));
  const sum = lines.reduce((total, l) => total + l.bytes, 0);
  return {
    lines: lines.map((l) => `${l.at}: ${size(l.bytes)} in ${l.count}`),
    sum,
    part: sum / at.allocated,
  };
}

const PASSING = ['activations', 'temporaries', 'gradients'] as const;
const LOSS = /cross_?entropy|nll_?loss|log_?softmax|(?:^|\/)loss(?:es)?\.py:|\bloss_?fn\b/i;
const ATTENTION = /(?:soft_?max|attention|attn)/i;

function logits(facts: MemoryFacts): Made | null {
  const { lines, sum, part } = heldBy(facts, PASSING, LOSS);
  if (part < LARGE.value) return null;
  return made(
    'memory-logits',
    `the loss holds ${size(sum)}`,
    lines,
    'fused-loss',
    ` That frees up to ${size(sum)}; it computes the output layer twice.`,
  );
}

function attention(facts: MemoryFacts): Made | null {
  const { lines, sum, part } = heldBy(facts, PASSING, ATTENTION);
  if (part < LARGE.value) return null;
  return {
    id: 'memory-attention',
    title: `attention keeps ${size(sum)}: fused kernels compute it again instead`,
    evidence: lines,
    remedy: use('fused-attention'),
  };
}

function activations(facts: MemoryFacts, view: RankView | undefined): Made | null {
  const kept = facts.at.parts.find((p) => p.kind === 'activations');
  if (!kept || kept.bytes < LARGE.value * facts.at.allocated) return null;
  return made(
    'memory-activations',
    `activations hold ${size(kept.bytes)} at the peak`,
    kept.lines.map((l) => `${l.at}: ${size(l.bytes)} in ${l.count}`),
    'checkpoint-blocks',
    ` They hold ${size(kept.bytes)} here. Checkpointing all blocks frees most of that and ${checkpointCost(view)}; half the micro-batch, accumulated twice, frees half of it and ${accumulationCost(view)}.`,
  );
}

/** A step with a second forward pass. */
function checkpointCost(view: RankView | undefined): string {
  const cost = costOf(view, 'checkpointAll');
  if (!cost) return 'costs one more forward pass';
  const { before, after, onHost } = cost;
  const more = `${onHost ? 'at least' : 'up to'} ${formatMs(ns(after - before))} per step (${formatMs(before)} → ${formatMs(after)} in the replay)`;
  return onHost ? `costs ${more}, because the host limits it and checkpoints keep it busy` : `costs ${more}`;
}

function accumulationCost(view: RankView | undefined): string {
  const cost = costOf(view, 'halfBatchTwice');
  if (!cost) return 'launches all kernels twice';
  const { before, after } = cost;
  return after > LEAST_GAIN * before
    ? `costs about ${formatMs(ns(after - before))} per step, because the host launches everything twice (${formatMs(before)} → ${formatMs(after)} in the replay)`
    : 'costs little time in the replay, if kernels on half the batch take half as long';
}

function optimizerState(facts: MemoryFacts): Made | null {
  const state = facts.at.parts.find((p) => p.kind === 'optimizer state');
  if (!state || state.bytes < MOST.value * facts.at.allocated) return null;
  return made(
    'memory-optimizer',
    `the optimizer’s state holds ${size(state.bytes)} at the peak`,
    state.lines.map((l) => `${l.at}: ${size(l.bytes)} in ${l.count}`),
    'sharded-state',
    ` It holds ${size(state.bytes)} here. N ranks keep 1/N of it each and exchange parameters in every step; 8-bit state is about a quarter.`,
  );
}

const made = (
  id: Made['id'],
  title: string,
  evidence: readonly string[],
  remedy: 'fused-loss' | 'checkpoint-blocks' | 'sharded-state',
  note: string,
): Made => ({ id, title, evidence, remedy: use(remedy), note });
