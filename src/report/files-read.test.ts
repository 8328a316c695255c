import { expect, it } from 'vitest';
import { filesRead } from './files-read.js';
import type { ReportInput } from './report.js';

const input = (path: string, rank: number | null, bytes = 100): ReportInput => ({
  path,
  kind: 'nsys',
  rank,
  bytes,
  events: 5,
  problems: [],
});
const text = (...inputs: readonly ReportInput[]) => filesRead({ inputs, many_ranks: null });

it('a file that holds two ranks counts as one file with two ranks', () => {
  expect(text(input('a.sqlite!process-7', 0), input('a.sqlite!process-8', 1, 0))).toBe('1 file with 2 ranks');
});

it('members of an archive and files of their own count one by one', () => {
  expect(text(input('a.zip!rank0.json', 0), input('a.zip!rank1.json', 1))).toBe('2 files');
  expect(text(input('rank0.json', 0), input('events.jsonl', null, 0))).toBe('2 files');
});
