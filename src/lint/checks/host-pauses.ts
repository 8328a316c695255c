import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault, LintRule } from '../kit/finding.js';

interface Pause {
  readonly name: RegExp;
  readonly id: LintRule;
  readonly message: string;
  readonly fix: string;
}

const PAUSES: readonly Pause[] = [
  {
    name: /^torch\.cuda\.empty_cache$/,
    id: 'allocator-churn',
    message:
      'torch.cuda.empty_cache() in every step: the allocator gives its memory back and asks the driver for it again.',
    fix: inOneLine(use('keep-cache')),
  },
  {
    name: /^gc\.collect$/,
    id: 'host-pause',
    message: 'gc.collect() in every step: the host walks all Python objects while the GPU runs dry.',
    fix: inOneLine(use('gc-frozen')),
  },
  {
    name: /^torch\.save$|\.save_checkpoint$|\.save_pretrained$/,
    id: 'checkpoint-in-step',
    message: 'A checkpoint in every step: training waits until it is written.',
    fix: inOneLine(use('background-checkpoint')),
  },
];

/** Work of the host in every step that holds up the GPU. */
export const checkHostPauses: Check = ({ calls, regions }) =>
  PAUSES.flatMap(({ name, id, message, fix }): Fault[] =>
    calls(name)
      .filter((call) => regions.isPerStep(call.node, call.block))
      .map((call) => ({ id, at: call.node, message, fix })),
  );
