import { NONE, remedy } from '../kit/remedy.js';

/** Fixes of memory that runs out. */

const SAME = 'Results are the same. Compare torch.cuda.max_memory_allocated() and the step time.';

export const checkpointBlocks = remedy({
  id: 'checkpoint-blocks',
  title: 'activation checkpointing of the blocks that hold most',
  cost: 'code',
  risk: 'none',
  check: SAME,
  text: 'Checkpoint the blocks whose activations hold the most, and only as many as needed. Or make the micro-batch smaller and accumulate gradients.',
  plain: {
    lines: [
      'from torch.utils.checkpoint import checkpoint',
      'x = checkpoint(block, x, use_reentrant=False)   # instead of block(x)',
    ],
  },
  usual: NONE,
});

export const fusedLoss = remedy({
  id: 'fused-loss',
  title: 'a loss that never holds all logits',
  cost: 'code',
  risk: 'numerics',
  check: 'Compare the loss and the gradient norm on one batch.',
  text: 'Compute the loss in chunks of tokens, with the output layer inside, so that the logits of one chunk at a time exist. Fused kernels (Liger, Apple’s cut-cross-entropy) do the same.',
  plain: {
    lines: [
      'def loss_of(h, t):  # one chunk of tokens',
      '    return F.cross_entropy(head(h), t, reduction="sum")',
      'parts = zip(hidden.chunk(8), targets.chunk(8))',
      'loss = sum(checkpoint(loss_of, h, t, use_reentrant=False)',
      '           for h, t in parts) / targets.numel()',
    ],
  },
  usual: NONE,
});

export const shardedState = remedy({
  id: 'sharded-state',
  title: 'optimizer state in shards, or smaller',
  cost: 'code',
  risk: 'numerics',
  check: 'With shards the results are the same. With 8-bit state compare the loss of a few hundred steps.',
  text: 'Split the optimizer’s state over the data-parallel ranks, or keep it in fewer bits. On one GPU only the second is possible.',
  plain: {
    lines: [
      'from torch.distributed.fsdp import fully_shard',
      'for block in model.blocks: fully_shard(block)',
      'fully_shard(model)',
    ],
  },
  usual: NONE,
});

export const letGo = remedy({
  id: 'let-go',
  title: 'results that keep no graph',
  cost: 'code',
  risk: 'none',
  check: 'torch.cuda.memory_allocated() at the end of a step stays the same over a few hundred steps.',
  text: 'Something keeps tensors of past steps: a list of losses, a metric, a cache. Keep numbers, or detached tensors on the CPU.',
  plain: { lines: ['losses.append(loss.detach())   # not loss: it keeps the graph'] },
  usual: NONE,
});
