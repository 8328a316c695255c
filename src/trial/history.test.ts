import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { appendPairs, historyFile, type MeasuredPair, readPairs, trackRecord } from './history.js';

const around = (likely: number) => ({ low: likely * 0.9, likely, high: likely * 1.1 });
const pair = (predicted: number, measured: number): MeasuredPair => ({
  at: '2026-11-16T00:00:00.000Z',
  fix: 'tf32',
  rule: 'T9',
  predicted: around(predicted),
  measured: around(measured),
  device: 'H200',
  torch: '2.11',
  whyslow: '0',
});

describe('the history of predictions', () => {
  it('is extended and read back; lines that are no pairs are skipped', () =>
    inFolder(async (folder) => {
      const file = historyFile({ XDG_STATE_HOME: folder });
      expect(file).toBe(join(folder, 'whyslow/tries.jsonl'));
      expect(await readPairs(file)).toEqual([]);
      await appendPairs(file, [pair(2, 2)]);
      await appendFile(file, '{"predicted": 3}\nnot json\n{"predicted":{"low":1,"likely"');
      await appendFile(file, '\n');
      await appendPairs(file, [pair(2, 3)]);
      expect(await readPairs(file)).toEqual([pair(2, 2), pair(2, 3)]);
      expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(6);
    }));

  it('says how well predictions did', () => {
    expect(trackRecord([])).toBeNull();
    const record = trackRecord([pair(2, 2.2), pair(2, 4), pair(1, 1)])!;
    expect(record).toMatchObject({ pairs: 3, right: 2 });
    expect(record.error).toBeCloseTo(0.1);
  });
});
