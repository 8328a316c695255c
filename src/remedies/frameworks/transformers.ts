import { LESS_OFTEN } from '../fixes/job-phases.js';
import { call } from '../kit/layout.js';
import type { Framework } from './framework.js';

const form = call('TrainingArguments');
const DDP: Readonly<Record<string, string>> = {
  bucket_cap_mb: 'ddp_bucket_cap_mb',
  find_unused_parameters: 'ddp_find_unused_parameters',
  static_graph: 'ddp_static_graph',
};
const LOADER = ['num_workers', 'persistent_workers', 'prefetch_factor', 'pin_memory'];

/** Checked against transformers 5.23. */
export const transformers: Framework = {
  id: 'transformers',
  name: 'transformers',
  modules: ['transformers.trainer'],
  form,
  places: {
    DataLoader: { form, names: (name) => (LOADER.includes(name) ? `dataloader_${name}` : null) },
    DDP: { form, names: (name) => DDP[name] ?? null },
  },
  spell: {
    tf32: { settings: ['tf32=True'] },
    'pinned-copies': ({ pinned }) => ({
      settings: [
        ...(pinned ? [] : ['dataloader_pin_memory=True']),
        'accelerator_config={"non_blocking": True}',
      ],
    }),
    'fused-optimizer': { settings: ['optim="adamw_torch_fused"'] },
    'bf16-autocast': ({ to }) => ({ settings: [`${to}=True`] }),
    compile: { settings: ['torch_compile=True'] },
    'compile-graphs': ({ fusesOptimizer }) => ({
      settings: [
        'torch_compile=True',
        'torch_compile_mode="reduce-overhead"',
        ...(fusesOptimizer ? ['optim="adamw_torch_fused"'] : []),
      ],
    }),
    'fused-attention': {
      lines: ['AutoModel.from_pretrained(..., attn_implementation="sdpa")'],
    },
    'keep-activations': { settings: ['gradient_checkpointing=False'] },
    'larger-micro-batch': ({ size = '4 * batch_size' }) => ({
      settings: [`per_device_train_batch_size=${size}`],
      lines: ['# divide gradient_accumulation_steps by the same factor'],
    }),
    'fewer-checkpoints': {
      text: `${LESS_OFTEN} Without the optimizer a checkpoint is a third of the size, but training cannot be resumed from it.`,
      settings: ['save_steps=1000'],
      lines: ['# for evaluation only: save_only_model=True'],
    },
    'fewer-evaluations': { settings: ['eval_steps=1000', 'per_device_eval_batch_size=…'] },
    'fewer-logs': { settings: ['logging_steps=50'] },
    'faster-generation': {
      lines: [
        '# TRL:',
        'GRPOConfig(..., use_vllm=True, vllm_mode="colocate",',
        '    max_completion_length=256, num_iterations=2)',
        '# Seq2SeqTrainingArguments: generation_max_length, generation_num_beams=1',
      ],
    },
  },
};
