import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { quotedCommand } from './printable.js';

it('leaves plain words as they are', () => {
  expect(quotedCommand(['torchrun', '--nproc-per-node=2', 'src/train.py'])).toBe(
    'torchrun --nproc-per-node=2 src/train.py',
  );
});

it('keeps every other word whole, whatever is in it', () => {
  const words = ['out dir é', "it's", '', '; rm x', '$(date)', 'a\nb', '*', '~'];
  const back = execFileSync('sh', ['-c', `printf '%s\\0' ${quotedCommand(words)}`], { encoding: 'utf8' });
  expect(back.split('\0').slice(0, -1)).toEqual(words);
});
