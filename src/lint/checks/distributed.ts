import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { loopAround } from '../python/script.js';
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
