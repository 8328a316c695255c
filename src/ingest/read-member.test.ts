import { describe, expect, it } from 'vitest';
import { describeFile } from './read-member.js';

const said = (content: string | readonly number[], path = 'a.json') =>
  describeFile(typeof content === 'string' ? Buffer.from(content) : Uint8Array.from(content), path);
const pickle = (text: string) => [0x80, 4, 0x95, ...Buffer.from(text)];

describe('a file that no reader knows', () => {
  it.each([
    ['empty', said(''), /^it is empty$/],
    ['a login page', said('\n<!DOCTYPE html><html>'), /web page/],
    ['a Git LFS pointer', said('version https://git-lfs.github.com/spec/v1\noid'), /git lfs pull/],
    ['an Nsight Systems recording', said([1, 2, 3], 'runs/report.nsys-rep'), /nsys export --type sqlite/],
    ['one in an archive', said([1, 2, 3], 'a.tar!b/report.qdrep'), /nsys export --type sqlite/],
    ['an Nsight Compute report', said([1, 2, 3], 'k.ncu-rep'), /ncu --import/],
    ['a memory snapshot', said(pickle('}(segments]}(device'), 'memory.pickle'), /memory_viz/],
    ['another pickle', said(pickle('}(x'), 'a.pkl'), /run any code/],
    ['a table of key_averages', said('----------  -------\n  Name  Self CPU %\n'), /pass the trace itself/],
    ['binary', said([0, 1, 2, 0, 1, 2]), /^it is binary$/],
    ['text', said('trial_name\n1\n'), /^it begins with "trial_name"$/],
    ['text with quotes', said('"a": 1'), /^it begins with "a": 1$/],
  ])('%s', (_, text, expected) => expect(text).toMatch(expected));
});
