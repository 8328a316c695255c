import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { type Call, loopAround } from '../python/script.js';
import type { Training } from '../training/training.js';

/** Gradients that are filled with zeros instead of dropped. */
export const checkZeroGrad: Check = ({ script, values, regions, text, mentions }) => {
  if (mentions(/\.grad\s*\+=|\.grad\.add_\(/)) return []; // it adds to gradients by hand
  const filling = script.calls.filter(({ method, positional, keywords, receiver }) => {
    if (method === 'zero_grad') return values.of(keywords.get('set_to_none') ?? positional[0]) === false;
    return method === 'zero_' && receiver !== null && /\.grad(?:\.data)?$/.test(text(receiver));
  });
  return filling
    .filter((call) => call.method === 'zero_grad' || regions.isPerStep(call.node, call.block))
    .map((call) => ({
      id: 'zero-fill',
      at: call.node,
      message:
        'Gradients are filled with zeros in every step: one more pass over all of them, and the next backward adds to them.',
      fix: inOneLine(use('drop-gradients')),
    }));
};

/** Dozens of operations per parameter: fusing pays off. SGD has two or three. */
const MANY_OPERATIONS = /^torch\.optim(?:\.adamw?)?\.(?:Adam|AdamW|NAdam|RAdam)$/;
const FUSABLE = /\.(?:Adam|AdamW)$/;
const ANY = /^torch\.optim(?:\.\w+)*\.[A-Z]\w+$/;
const FOR_LOOP = /^transformers\.(?:optimization\.)?AdamW$/;

export const checkOptimizers: Check = (training) => {
  const { usesGpu, regions, framework } = training;
  if (!usesGpu || (!regions.exist && framework !== 'lightning')) return [];
  return [...calledOneByOne(training), ...unfused(training)];
};

function calledOneByOne({ calls, values }: Training): Fault[] {
  const explicit = calls(ANY).filter((call) => isForLoop(call, values));
  return [...explicit, ...calls(FOR_LOOP)].map((call) => ({
    id: 'unfused-optimizer',
    at: call.node,
    message: 'The optimizer loops over parameters: a dozen launches for each of them, in every step.',
    fix: inOneLine(use('fused-optimizer', { foreach: !FUSABLE.test(call.name) })),
  }));
}

function unfused({ calls }: Training): Fault[] {
  return calls(MANY_OPERATIONS)
    .filter((call) => FUSABLE.test(call.name) && !call.hasSpread)
    .filter(
      ({ keywords }) => !keywords.has('fused') && !keywords.has('foreach') && !keywords.has('differentiable'),
    )
    .map((call) => ({
      id: 'unfused-optimizer',
      at: call.node,
      message: `${call.method} without fused=True: the update is a dozen passes over all parameters instead of one.`,
      fix: inOneLine(use('fused-optimizer')),
    }));
}

const isForLoop = ({ keywords }: Call, values: Training['values']): boolean =>
  values.of(keywords.get('foreach')) === false && values.of(keywords.get('fused')) !== true;

const CHECKPOINT = /^torch\.utils\.checkpoint\.checkpoint$/;
const ADVICE = inOneLine(use('keep-activations'));

/** Activation checkpointing of every block, without a switch to turn it off. */
export const checkCheckpointing: Check = (training) => [...everyBlock(training), ...enabled(training)];

function everyBlock({ calls, regions, text }: Training): Fault[] {
  return calls(CHECKPOINT)
    .filter((call) => {
      const loop = loopAround(call.block);
      return loop?.kind === 'for' && loop.head !== null && !/\d|step|batch|loader/.test(text(loop.head));
    })
    .filter((call) => regions.isUnconditional(call.node, call.block))
    .map((call) => ({ id: 'activation-checkpointing', at: call.node, message: MESSAGE, fix: ADVICE }));
}

function enabled({ script, regions }: Training): Fault[] {
  return script.calls
    .filter(
      (call) =>
        call.method === 'gradient_checkpointing_enable' && regions.isUnconditional(call.node, call.block),
    )
    .map((call) => ({ id: 'activation-checkpointing', at: call.node, message: MESSAGE, fix: ADVICE }));
}

const MESSAGE =
  'Every block is checkpointed: the backward pass computes all of the forward again, a fifth to a third of the step.';
