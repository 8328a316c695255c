import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { isInside, loopAround } from '../python/script.js';
import type { Training } from '../training/training.js';

const COMPILE = /^torch\.compile$/;
/** Batches padded to their longest sample have a new shape in most steps. */
export const RAGGED =
  /\bpad_sequence\(|DataCollatorWithPadding\(|DataCollatorForSeq2Seq\(|padding\s*=\s*(?:True|["']longest["'])/;
const BUCKETED = /pad_to_multiple_of|bucket|mark_dynamic|padding\s*=\s*["']max_length["']/i;

export const checkCompiling: Check = (training) => [
  ...inTheLoop(training),
  ...newShapes(training),
  ...withoutCompiler(training),
];

function inTheLoop(training: Training): Fault[] {
  const { calls, regions } = training;
  const isInLoop = (call: (typeof training.script.calls)[number]) =>
    regions.isPerStep(call.node, call.block) ||
    // In the loop over epochs.
    [...regions.loops].some((loop) => {
      const epochs = loop.parent && loopAround(loop.parent);
      return epochs && loopAround(call.block) === epochs && isInside(call.node, epochs.span);
    });
  return calls(COMPILE)
    .filter(isInLoop)
    .map((call) => ({
      id: 'recompiles',
      at: call.node,
      message:
        'torch.compile inside the loop: each call makes a new compiled function, which starts without what was compiled before.',
      fix: inOneLine(use('compile-once')),
    }));
}

/** Static shapes or CUDA graphs, but batches of many lengths. */
function newShapes({ calls, values, mentions }: Training): Fault[] {
  if (!mentions(RAGGED) || mentions(BUCKETED)) return [];
  return calls(COMPILE).flatMap((call): Fault[] => {
    const mode = values.of(call.keywords.get('mode'));
    const isStatic = values.of(call.keywords.get('dynamic')) === false;
    const hasGraphs = mode === 'reduce-overhead' || mode === 'max-autotune';
    if (!isStatic && !hasGraphs) return [];
    const why = isStatic ? 'dynamic=False compiles again' : `mode="${mode}" records a CUDA graph`;
    return [
      {
        id: 'recompiles',
        at: call.node,
        message: `${why} for every new shape, and batches are padded to their longest sample.`,
        fix: inOneLine(use('few-shapes')),
      },
    ];
  });
}

function withoutCompiler({ calls, values, regions }: Training): Fault[] {
  return calls(COMPILE)
    .filter((call) => regions.isUnconditional(call.node, call.block))
    .filter((call) => /^(?:eager|aot_eager)$/.test(String(values.of(call.keywords.get('backend')) ?? '')))
    .map((call) => ({
      id: 'launch-bound',
      at: call.node,
      message: `backend="${values.of(call.keywords.get('backend'))}" traces the model but compiles nothing: it is for debugging.`,
      fix: inOneLine(use('compile')),
    }));
}
