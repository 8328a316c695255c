import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { loopAround } from '../python/script.js';
import type { Training } from '../training/training.js';

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
