import { describe, expect, it } from 'vitest';
import { TRIALS } from '../remedies/remedies.js';
import { pasteLines } from './paste.js';

const applied = { 'loader-workers': ['num_workers 0 → 12, persistent_workers'] };
const ids = ['tf32', 'loader-workers', 'bf16-autocast'];

describe('lines to paste for fixes that helped', () => {
  it('are plain code, with the number that was used', () => {
    expect(pasteLines(['tf32', 'loader-workers'], 'plain', applied)).toEqual([
      'DataLoader(..., num_workers=12, persistent_workers=True)',
      'torch.set_float32_matmul_precision("high")',
    ]);
  });

  it('are one call of TrainingArguments with transformers', () => {
    expect(pasteLines(ids, 'transformers', applied)).toEqual([
      'TrainingArguments(...,',
      '    tf32=True,',
      '    dataloader_num_workers=12,',
      '    dataloader_persistent_workers=True,',
      '    bf16=True)',
    ]);
  });

  it('are arguments of the Trainer with Lightning, if it has them', () => {
    expect(pasteLines(ids, 'lightning', applied)).toEqual([
      '# in train_dataloader()',
      'DataLoader(..., num_workers=12, persistent_workers=True)',
      'Trainer(..., precision="bf16-mixed")',
      'torch.set_float32_matmul_precision("high")',
    ]);
  });

  it('exist for every fix', () => {
    for (const { id } of TRIALS) expect(pasteLines([id], 'plain', {}).length, id).toBeGreaterThan(0);
  });
});
