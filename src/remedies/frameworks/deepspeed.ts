import { json, PLAIN } from '../kit/layout.js';
import type { Framework } from './framework.js';

/** Checked against DeepSpeed 0.19. ZeRO takes the place of DDP and FSDP. */
export const deepspeed: Framework = {
  id: 'deepspeed',
  name: 'DeepSpeed',
  modules: ['deepspeed.'],
  form: json('DeepSpeed config'),
  places: { DataLoader: PLAIN.DataLoader },
  spell: {
    'bf16-autocast': ({ to }) => ({ settings: [`"${to}": {"enabled": true}`] }),
    compile: { lines: ['engine.compile()  # after deepspeed.initialize'] },
    'overlap-collectives': { settings: ['"zero_optimization": {"overlap_comm": true}'] },
    'ddp-bucket-size': { settings: ['"zero_optimization": {"reduce_bucket_size": 5e8}'] },
    'fsdp-prefetch': { settings: ['"zero_optimization": {"stage3_prefetch_bucket_size": 5e7}'] },
    'fused-optimizer': {
      text: 'Use DeepSpeed’s own Adam, which is fused, and leave torch_adam out.',
      settings: ['"optimizer": {"type": "AdamW"}'],
    },
    'larger-micro-batch': ({ size = 'N' }) => ({
      settings: [`"train_micro_batch_size_per_gpu": ${size}`],
      lines: ['# divide gradient_accumulation_steps by the same factor'],
    }),
    'late-reads': { settings: ['"wall_clock_breakdown": false'] },
  },
};
