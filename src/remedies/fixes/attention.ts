import { NONE, remedy } from '../kit/remedy.js';

export const fusedAttention = remedy({
  id: 'fused-attention',
  title: 'fused attention kernels',
  cost: 'code',
  risk: 'numerics',
  check: 'Compare outputs on one batch (rtol 1e-2 in 16 bit): masks and dropout must mean the same.',
  text: 'Call scaled_dot_product_attention with 16-bit inputs and check which backend it takes: a float mask, a head size above 256 or fp32 inputs rule out the fast ones.',
  plain: {
    lines: [
      'from torch.nn.attention import sdpa_kernel, SDPBackend',
      'with sdpa_kernel([SDPBackend.FLASH_ATTENTION,',
      '                  SDPBackend.CUDNN_ATTENTION]):  # fails if neither can run',
      '    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)',
    ],
  },
  usual: NONE,
  trial: { answers: ['unfused-attention'] },
});

export const keepActivations = remedy({
  id: 'keep-activations',
  title: 'fewer checkpointed blocks, or none',
  cost: 'knob',
  risk: 'memory',
  check:
    'Results are the same. Watch torch.cuda.max_memory_allocated(): it grows by the activations that are now kept.',
  text: 'Checkpoint fewer blocks, or none, if memory allows: try without, then every second block.',
  plain: { lines: ['x = block(x)   # instead of checkpoint(block, x, use_reentrant=False)'] },
  usual: NONE,
});

export const sparseEmbeddings = remedy({
  id: 'sparse-embeddings',
  title: 'sparse gradients for embedding tables',
  cost: 'code',
  risk: 'numerics',
  check:
    'Moments and weight decay then reach only the rows of a batch: compare the validation loss. clip_grad_norm_() does not take sparse gradients. It does not help if the table is also the output layer: its gradient is dense.',
  text: 'Let the table have sparse gradients, with an optimizer that updates only the rows of the batch.',
  plain: {
    lines: [
      'table = nn.Embedding(rows, width, sparse=True)',
      'rows_only = torch.optim.SparseAdam(table.parameters())  # or SGD, Adagrad',
      'all_rows = torch.optim.AdamW(other_parameters, fused=True)',
    ],
  },
  usual: NONE,
});
