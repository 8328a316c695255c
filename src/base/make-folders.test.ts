import fs, { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolders } from './make-folders.js';

const failing = (code: string) => ({
  mkdirSync: () => {
    throw Object.assign(new Error(code), { code });
  },
  statSync: () => ({ isDirectory: () => false }),
});

describe('makeFolders', () => {
  it('makes the folders around it, and says whether it was there', () => {
    const folder = mkdtempSync(join(tmpdir(), 'whyslow-test-'));
    try {
      expect(makeFolders(join(folder, 'a/b/c'), fs)).toBe(true);
      expect(makeFolders(join(folder, 'a/b/c'), fs)).toBe(false);
      expect(existsSync(join(folder, 'a/b/c'))).toBe(true);
      writeFileSync(join(folder, 'file'), '');
      expect(() => makeFolders(join(folder, 'file'), fs)).toThrow('EEXIST');
      expect(() => makeFolders(join(folder, 'file/a'), fs)).toThrow('ENOTDIR');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each(['ENOENT', 'EROFS', 'ENOSPC'])('ends where mkdir always answers %s', (code) => {
    expect(() => makeFolders('/proc/a/b/c', failing(code))).toThrow(code);
  });
});
