/** What two rules advise: one sees compilations in a trace, the other in the job's wall time. */
export const KEEP_GUARDS = {
  fix: {
    text: 'See which guard fails, then keep it from changing: pad or bucket lengths, or mark the dimension dynamic. Raising the limit is the last resort.',
    code: 'TORCH_LOGS=recompiles python train.py      # which function, which guard\nx = pad_to_multiple(x, 256)                # few shapes instead of many\ntorch._dynamo.mark_dynamic(x, 1)           # or: one graph for all lengths',
  },
  check: 'Padding must be masked out of attention and loss: compare the loss on one batch before and after.',
  more: 'torch.compile(model, dynamic=True) makes one graph for all sizes; dynamic=False compiles every size anew. The limit is torch._dynamo.config.recompile_limit, 8 by default (earlier cache_size_limit): raise it only for a few more sizes that stay the same. TORCH_LOGS=graph_breaks and torch._dynamo.explain show where the graph breaks.',
  cost: 'code',
  risk: 'numerics',
} as const;
