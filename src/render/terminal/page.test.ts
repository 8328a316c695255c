import { expect, it } from 'vitest';
import { codeLines, pageFor } from './page.js';

const lines = (code: string) => codeLines(code, pageFor(false, 40), '  ');

it('keeps lines and indentation', () => {
  expect(lines('for x in loader:\n    step(x)\n')).toEqual(['  for x in loader:', '      step(x)']);
});

it('moves a comment that makes a line too long above it', () => {
  expect(lines('torch.compile(model)  # the first steps are slow')).toEqual([
    '  # the first steps are slow',
    '  torch.compile(model)',
  ]);
  expect(lines('# a comment of its own that is longer than a line')).toEqual([
    '  # a comment of its own that is longer',
    '  # than a line',
  ]);
});

it('keeps the command that starts a job on one line', () => {
  const command = "whyslow run --trace -- torchrun 'my train.py' --name 'a # b'";
  expect(lines(command)).toEqual([`  ${command}`]);
  for (const other of [
    'whyslow diagnose /mnt/runs/a/folder/(1) --ranks 2 --all',
    'nsys profile --trace=cuda,nvtx --delay=60 -o x python train.py',
  ])
    expect(lines(other)).toEqual([`  ${other}`]);
});

it('breaks a long call between its arguments', () => {
  expect(lines('DataLoader(ds, num_workers=8, persistent_workers=True)')).toEqual([
    '  DataLoader(ds, num_workers=8,',
    '      persistent_workers=True)',
  ]);
});
