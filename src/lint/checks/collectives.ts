import { groupBy } from '../../base/group-by.js';
import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { around, type Call, functionAround } from '../python/script.js';
import type { Training } from '../training/training.js';

const COLLECTIVE =
  /^(?:torch\.)?(?:distributed|dist)\.(?:all_reduce|reduce|all_gather|all_gather_object|all_gather_into_tensor|broadcast)$/;
const SCALAR =
  /loss|acc|count|total|num|norm|correct|metric|seq|mfu|token|top\d|\.mean\(|\.sum\(|torch\.tensor\(|\.item\(/i;
/** A tensor reduced to one number: `lengths.float().mean()`, `torch.tensor(flops, device=device)`. */
const REDUCED = /\.(?:mean|sum|min|max|norm|prod|std|var)\(\s*\)\s*$|^torch\.tensor\(\s*[\w.]+\s*[,)]/;
/** Fewer pay off little when joined. */
const SEVERAL = 2;

/** Collectives in every step that carry next to nothing. */
export const checkCollectives: Check = (training) => [
  ...ofGradients(training),
  ...ofScalars(training),
  ...ofLogs(training),
];

const perStep = (training: Training): readonly Call[] =>
  training.calls(COLLECTIVE).filter((call) => training.regions.isPerStep(call.node, call.block));

const payload = (call: Call, { text }: Training): string =>
  call.positional[0] ? text(call.positional[0]) : '';

function ofGradients(training: Training): Fault[] {
  return perStep(training)
    .filter((call) => /\.grad\b/.test(payload(call, training)) && isInParameterLoop(call, training))
    .map((call) => ({
      id: 'small-collectives',
      at: call.node,
      message:
        'One collective per parameter, after the backward pass: each pays the full latency and none overlaps.',
      fix: inOneLine(use('bucketed-gradients')),
    }));
}

function isInParameterLoop(call: Call, { text }: Training): boolean {
  for (const block of around(call.block))
    if (block.kind === 'for' && block.head && /param/.test(text(block.head))) return true;
  return false;
}

function ofScalars(training: Training): Fault[] {
  const scalars = perStep(training).filter((call) => {
    const sent = payload(call, training);
    return (SCALAR.test(sent) || isReduced(sent, call, training)) && !/\.grad\b/.test(sent);
  });
  return [...groupBy(scalars, (call) => call.block).values()]
    .filter((group) => group.length >= SEVERAL)
    .map((group) => ({
      id: 'scalar-collectives',
      at: group[0]!.node,
      message: `${group.length} collectives of single values in every step: each pays the full latency.`,
      fix: inOneLine(use('one-collective')),
    }));
}

/** Whether a name stands for one number: what it was last set to in the same function says so. */
function isReduced(name: string, call: Call, { text, values }: Training): boolean {
  const block = functionAround(call.block);
  const set = values
    .assignmentsTo(name)
    .filter((a) => functionAround(a.block) === block && a.span.from < call.node.from);
  const last = set.at(-1);
  return last !== undefined && !last.isUpdate && REDUCED.test(text(last.value));
}

/** Lightning's `self.log(…, sync_dist=True)` is a collective each. */
function ofLogs(training: Training): Fault[] {
  const logs = training.script.calls.filter(
    (call) =>
      /^self\.log(?:_dict)?$/.test(call.name) &&
      training.values.of(call.keywords.get('sync_dist')) === true &&
      training.values.of(call.keywords.get('on_step')) !== false &&
      training.regions.isPerStep(call.node, call.block),
  );
  if (logs.length < SEVERAL) return [];
  return [
    {
      id: 'scalar-collectives',
      at: logs[0]!.node,
      message: `${logs.length} values logged with sync_dist=True in every step: one collective each.`,
      fix: inOneLine(use('one-collective'), 'lightning'),
    },
  ];
}
