import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { inFolder, root } from '../helpers/cli.js';
import { readTraceFile, shifted } from '../helpers/relations.js';

const RANKS = join(root, 'test/fixtures/zoo-ranks');
const codes = async (folder: string) => {
  const report = await diagnose(folder, { jobs: 1 });
  return { report, health: report.health.problems.map((p) => p.code) };
};

it('clocks that differ by more than the window lasts are aligned by collectives: the answer stays', () =>
  inFolder(async (folder) => {
    const usual = await codes(join(RANKS, 'straggler_host'));
    for (let rank = 0; rank < 4; rank++) {
      const file = readTraceFile(join(RANKS, 'straggler_host', `rank${rank}.json.gz`));
      const ahead = rank === 1 ? 3_000_000 : rank === 3 ? -86_400_000_000 : 0;
      writeFileSync(join(folder, `rank${rank}.json`), JSON.stringify(shifted(file, ahead)));
    }
    const apart = await codes(folder);
    expect(apart.health).not.toContain('disjoint-windows');
    expect(apart.report.verdict.bottleneck).toBe(usual.report.verdict.bottleneck);
    expect(apart.report.verdict.confidence).toBe(usual.report.verdict.confidence);
  }));

it('traces of two runs of the same program at different times are not one run', () =>
  inFolder(async (folder) => {
    copyFileSync(join(RANKS, 'balanced/rank0.json.gz'), join(folder, 'rank0.json.gz'));
    const other = readTraceFile(join(RANKS, 'straggler_transient/rank1.json.gz'));
    writeFileSync(join(folder, 'rank1.json'), JSON.stringify(shifted(other, 600_000_000)));
    expect((await codes(folder)).health).toContain('disjoint-windows');
  }));
