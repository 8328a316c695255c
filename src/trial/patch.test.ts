import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { usesOf } from './conclude.js';
import { patchFor } from './patch.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'whyslow-patch-'));
});
afterEach(() => rm(folder, { recursive: true }));

const LOADER = ['num_workers 0 → 8, persistent_workers'];

/** Of fixes that changed what they did at these lines. The new lines of the patch, without their plus. */
async function added(
  script: string,
  {
    ids = ['loader-workers'],
    applied = { 'loader-workers': LOADER } as Record<string, readonly string[]>,
    line = null as number | null,
    framework = 'plain',
    file = 'train.py',
    command = ['python', 'train.py'],
  } = {},
) {
  const path = join(folder, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, script);
  const places = line === null ? {} : Object.fromEntries(ids.map((id) => [id, [`${path}:${line}`]]));
  const uses = usesOf(ids, { applied });
  const { text, byHand } = await patchFor({ uses, framework, result: { applied, places } }, command, folder);
  const lines = text?.split('\n').filter((l) => l.startsWith('+') && !l.startsWith('+++')) ?? null;
  return { lines: lines?.map((l) => l.slice(1)) ?? null, byHand };
}

describe('the patch for fixes that helped', () => {
  it('adds arguments to the DataLoader that the trial changed, of two in the script', async () => {
    const script = 'from torch.utils.data import DataLoader\na = DataLoader(x)\nb = DataLoader(y, 4)\n';
    expect(await added(script, { line: 3 })).toEqual({
      lines: ['b = DataLoader(y, 4, num_workers=8, persistent_workers=True)'],
      byHand: [],
    });
  });

  it('replaces an argument that is there, by name or by position', async () => {
    const named = 'import torch\nl = torch.utils.data.DataLoader(x, num_workers=args.workers)\n';
    expect((await added(named, { line: 2 })).lines).toEqual([
      'l = torch.utils.data.DataLoader(x, num_workers=8, persistent_workers=True)',
    ]);
    const positional = 'l = DataLoader(x, 4, True, None, None, 0)\n';
    expect((await added(positional, { line: 1 })).lines).toEqual([
      'l = DataLoader(x, 4, True, None, None, 8, persistent_workers=True)',
    ]);
  });

  it('gives arguments lines of their own where the others have them', async () => {
    const script = 'l = DataLoader(\n    x,\n    batch_size=4,  # of each rank\n)\n';
    expect((await added(script, { line: 1 })).lines).toEqual([
      '    batch_size=4,',
      '    num_workers=8,',
      '    persistent_workers=True,  # of each rank',
    ]);
  });

  it('finds the only DataLoader of the script if the place is not known', async () => {
    const { lines } = await added('l = DataLoader(x)\n');
    expect(lines).toEqual(['l = DataLoader(x, num_workers=8, persistent_workers=True)']);
    const command = ['torchrun', '--nproc-per-node', '2', '-m', 'pkg.train'];
    expect((await added('l = DataLoader(x)\n', { command })).lines).toBeNull();
    const module = { file: 'pkg/train.py', command };
    expect((await added('l = DataLoader(x)\n', module)).lines).not.toBeNull();
  });

  it.each([
    ['several calls and no place', 'a = DataLoader(x)\nb = DataLoader(y)\n'],
    ['arguments that are passed on', 'a = DataLoader(x, **options)\n'],
    ['no call', 'trainer.fit(model)\n'],
  ])('leaves the lines to people with %s', async (_, script) => {
    expect(await added(script)).toEqual({
      lines: null,
      byHand: ['DataLoader(..., num_workers=8, persistent_workers=True)'],
    });
  });

  it('puts settings of torch after its import, and leaves lines without a place to people', async () => {
    const script = 'import os, torch\nfrom torch import nn\n\nmodel = nn.Linear(1, 1)\n';
    expect(await added(script, { ids: ['tf32', 'compile'], applied: {} })).toEqual({
      lines: ['torch.set_float32_matmul_precision("high")'],
      byHand: ['model = torch.compile(model)'],
    });
    expect((await added('from torch import nn\n', { ids: ['tf32'], applied: {} })).lines).toBeNull();
  });

  it('changes the optimizer that the trial changed', async () => {
    const applied = { 'fused-optimizer': ['AdamW(fused=True)'] };
    const script = 'import torch\nopt = torch.optim.AdamW(model.parameters(), lr=1e-3)\n';
    expect(await added(script, { ids: ['fused-optimizer'], applied, line: 2 })).toEqual({
      lines: ['opt = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)'],
      byHand: [],
    });
  });

  it('changes the arguments of a framework where the script makes them', async () => {
    const script = 'args = Seq2SeqTrainingArguments("out", bf16=False)\n';
    const given = { ids: ['loader-workers', 'bf16-autocast'], framework: 'transformers', line: 1 };
    expect((await added(script, given)).lines).toEqual([
      'args = Seq2SeqTrainingArguments("out", bf16=True, dataloader_num_workers=8, dataloader_persistent_workers=True)',
    ]);
  });

  it('keeps the ends of lines', async () => {
    const { lines } = await added('l = DataLoader(\r\n    x,\r\n)\r\n', { line: 1 });
    expect(lines).toEqual(['    num_workers=8,\r', '    persistent_workers=True,\r']);
  });

  it('changes no file outside of the folder, and none that is not text', async () => {
    const fixed = {
      uses: usesOf(['loader-workers'], { applied: { 'loader-workers': LOADER } }),
      framework: 'plain',
      result: {
        applied: {},
        places: { 'loader-workers': [`${join(folder, 'lib.py')}:1`, '/etc/hostname:1'] },
      },
    };
    await writeFile(join(folder, 'lib.py'), Buffer.from([0xff, 0xfe, 0x00]));
    expect((await patchFor(fixed, ['python'], join(folder))).text).toBeNull();
    await writeFile(join(folder, 'lib.py'), 'DataLoader(x)\n');
    expect((await patchFor(fixed, ['python'], join(folder, 'inner'))).text).toBeNull();
  });
});
