import { NONE, remedy } from '../kit/remedy.js';

/** Fixes of exposed communication, and of collectives that should not be there. */

const BUCKETS = { bucket_cap_mb: 100, gradient_as_bucket_view: true };
const PREFETCH = { forward_prefetch: true, backward_prefetch: 'BackwardPrefetch.BACKWARD_PRE' };

export const overlapCollectives = remedy({
  id: 'overlap-collectives',
  title: 'communication overlaps with computation',
  cost: 'knob',
  risk: 'none',
  check: 'Results are the same; with accumulation, keep the effective batch.',
  text: 'Overlap communication with computation: larger DDP buckets, with gradients as views of them; with FSDP, prefetch in both directions; more work per step (accumulation with no_sync).',
  plain: { set: { DDP: BUCKETS, FSDP: PREFETCH } },
  usual: NONE,
});

export const ddpBucketView = remedy({
  id: 'ddp-bucket-view',
  title: 'DDP: gradients are views of the buckets',
  cost: 'knob',
  risk: 'none',
  check: 'Results are the same. Code must not detach gradients with detach_().',
  text: 'Let gradients be views of the DDP buckets: they are then not copied.',
  plain: { set: { DDP: { gradient_as_bucket_view: true } } },
  usual: NONE,
  trial: { answers: [], alsoFor: ['exposed-collectives', 'small-collectives'] },
});

export interface Bucket {
  readonly megabytes: number | 'N';
  readonly view?: boolean;
}

export const ddpBucketSize = remedy({
  id: 'ddp-bucket-size',
  title: 'DDP: larger buckets',
  cost: 'knob',
  risk: 'none',
  check: 'Results agree to rounding: sums are taken in another order.',
  text: 'Reduce gradients in fewer, larger buckets, as views of them.',
  plain: ({ megabytes, view = true }: Bucket) => ({
    set: { DDP: { bucket_cap_mb: megabytes, gradient_as_bucket_view: view } },
  }),
  usual: { megabytes: 100 },
  trial: {
    answers: ['small-collectives'],
    alsoFor: ['exposed-collectives'],
    risk: 'memory',
    args: (used) => ({ megabytes: used, view: false }),
  },
});

export interface Search {
  /** Only what a trial applies. */
  readonly tried?: boolean;
}

export const ddpStaticGraph = remedy({
  id: 'ddp-static-graph',
  title: 'DDP: static graph, no search for unused parameters',
  cost: 'knob',
  risk: 'none',
  check: 'DDP raises an error in the next step if a parameter got no gradient.',
  text: 'Turn the search off if every parameter takes part in the loss. If some do not and the graph never changes, static_graph finds them once.',
  plain: ({ tried }: Search) =>
    tried
      ? { set: { DDP: { static_graph: true } }, lines: ['# only if every step runs the same layers'] }
      : {
          set: { DDP: { find_unused_parameters: 'False' } },
          lines: ['# or static_graph=True, if every step runs the same layers'],
        },
  usual: {},
  trial: {
    answers: ['find-unused-parameters'],
    alsoFor: ['exposed-collectives', 'small-collectives'],
    risk: 'data',
    args: () => ({ tried: true }),
  },
});

export const fsdpPrefetch = remedy({
  id: 'fsdp-prefetch',
  title: 'FSDP: all-gathers start earlier',
  cost: 'knob',
  risk: 'none',
  check: 'Results are the same. Peak memory grows by the parameters of one layer.',
  text: 'Gather the next layer’s parameters while this one computes, in both directions.',
  plain: {
    set: { FSDP: PREFETCH },
    lines: ['# FSDP2: layer.set_modules_to_forward_prefetch([next_layer])'],
  },
  usual: NONE,
  trial: { answers: ['no-prefetch'], risk: 'memory' },
});

export const pipelineSchedule = remedy({
  id: 'pipeline-schedule',
  title: 'more micro-batches, or a schedule with several stages per rank',
  cost: 'knob',
  risk: 'none',
  check:
    'Results are the same if the batch is. Smaller micro-batches use each GPU less well: compare the step.',
  text: 'Use more micro-batches, or a schedule that gives each rank several stages. Move layers away from the slowest stage: it is the one that waits least. Count the embeddings and the loss when you balance the stages.',
  plain: {
    lines: [
      'Schedule1F1B(stage, n_microbatches=4 * stages)',
      'ScheduleInterleaved1F1B([stage_a, stage_b], n_microbatches=…)',
      '# Megatron: --global-batch-size, --num-layers-per-virtual-pipeline-stage',
    ],
  },
  usual: NONE,
});

export const oneCollective = remedy({
  id: 'one-collective',
  title: 'several scalars in one collective, read a step late',
  cost: 'code',
  risk: 'none',
  check: 'Sums and means must be taken the same way: reduce sums and counts, divide afterward.',
  text: 'Put the values into one tensor, reduce it once, and read it one step late.',
  plain: {
    lines: [
      'values = torch.stack([loss, grad_norm, tokens])   # one tensor',
      'dist.all_reduce(values, async_op=True)            # one collective',
      '# read the values of the previous step instead of this one',
    ],
  },
  usual: NONE,
});

export const bucketedGradients = remedy({
  id: 'bucketed-gradients',
  title: 'gradients reduced by DDP, in buckets',
  cost: 'code',
  risk: 'none',
  check: 'Results agree to rounding: sums are taken in another order.',
  text: 'Use DistributedDataParallel: it sends gradients in buckets while the backward pass runs. Or copy them into one tensor and reduce that.',
  plain: { lines: ['model = DistributedDataParallel(model, gradient_as_bucket_view=True)'] },
  usual: NONE,
});

export interface Units {
  readonly fsdp2?: boolean;
}

export const shardedUnits = remedy({
  id: 'sharded-units',
  title: 'FSDP: one unit per block',
  cost: 'code',
  risk: 'none',
  check: 'Results are the same. Peak memory falls.',
  text: 'Make each transformer block a unit of its own: it is gathered while the block before computes.',
  plain: ({ fsdp2 }: Units) =>
    fsdp2
      ? { lines: ['for block in model.layers: fully_shard(block)', 'fully_shard(model)'] }
      : { set: { FSDP: { auto_wrap_policy: 'policy' } } },
  usual: {},
});
