import { groupBy } from '../../base/group-by.js';
import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { around, type Call, functionAround, loopAround } from '../python/script.js';
import type { Training } from '../training/training.js';

const DDP = /^torch\.nn\.parallel(?:\.distributed)?\.DistributedDataParallel$/;
const FSDP = /^torch\.distributed\.fsdp(?:\.\w+)*\.FullyShardedDataParallel$/;
const FULLY_SHARD = /^torch\.distributed\.(?:fsdp|_composable)(?:\.\w+)*\.fully_shard$/;
/** Settings objects of Lightning and Accelerate that are passed on to DDP. */
const DDP_SETTINGS = /(?:^|\.)(?:DDPStrategy|DistributedDataParallelKwargs)$/;

export const checkDistributed: Check = (training) => [
  ...unusedParameters(training),
  ...bucketViews(training),
  ...prefetch(training),
  ...oneUnit(training),
];

function unusedParameters({ script, values }: Training): Fault[] {
  return script.calls
    .filter((call) => DDP.test(call.name) || DDP_SETTINGS.test(call.name))
    .filter((call) => values.of(call.keywords.get('find_unused_parameters')) === true)
    .map((call) => ({
      id: 'find-unused-parameters',
      at: call.keywords.get('find_unused_parameters')!,
      message:
        'find_unused_parameters=True: DDP walks the whole autograd graph in every step before the backward pass.',
      fix: inOneLine(use('ddp-static-graph')),
    }));
}

function bucketViews({ calls, values, mentions }: Training): Fault[] {
  if (!mentions(/\boptim|\.backward\(/)) return []; // it only evaluates
  return calls(DDP)
    .filter((call) => !call.hasSpread)
    .filter(({ keywords }) => {
      const given = keywords.get('gradient_as_bucket_view');
      return !given || values.of(given) === false;
    })
    .map((call) => ({
      id: 'exposed-collectives',
      at: call.node,
      message:
        'DDP without gradient_as_bucket_view: all gradients are copied into the buckets and take their memory twice.',
      fix: inOneLine(use('ddp-bucket-view')),
    }));
}

function prefetch({ calls, values, text }: Training): Fault[] {
  const settings = [...calls(FSDP), ...calls(/(?:^|\.)(?:FSDPStrategy|FullyShardedDataParallelPlugin)$/)];
  return settings.flatMap((call): Fault[] => {
    const given = call.keywords.get('backward_prefetch');
    if (!given || (values.of(given) !== null && !/NO_PREFETCH|BACKWARD_POST/i.test(text(given)))) return [];
    return [
      {
        id: 'no-prefetch',
        at: given,
        message:
          'FSDP without backward prefetch: the next parameters are gathered only after this layer is done.',
        fix: inOneLine(use('fsdp-prefetch')),
      },
    ];
  });
}

/** A model that is one unit is gathered at once, before anything is computed. */
function oneUnit(training: Training): Fault[] {
  const { calls, mentions } = training;
  const wraps = calls(FSDP);
  const shards = calls(FULLY_SHARD);
  const message =
    'FSDP wraps the whole model as one unit: all parameters are gathered before the first layer, and nothing overlaps.';
  if (
    wraps.length === 1 &&
    !wraps[0]!.hasSpread &&
    !mentions(/auto_wrap_policy|\bwrap\(|enable_wrap|NO_SHARD|SHARD_GRAD_OP/) &&
    wraps[0]!.positional.length < 4
  )
    return [
      {
        id: 'no-prefetch',
        at: wraps[0]!.node,
        message,
        fix: inOneLine(use('sharded-units')),
      },
    ];
  if (shards.length === 1 && !wraps.length && !loopAround(shards[0]!.block))
    return [
      {
        id: 'no-prefetch',
        at: shards[0]!.node,
        message,
        fix: inOneLine(use('sharded-units', { fsdp2: true })),
      },
    ];
  return [];
}

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
