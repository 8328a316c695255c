import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { simulateRun, writeRun } from '../../test/helpers/simulate/simulate.js';
import { diagnoseForPage } from '../library/page.js';
import type { RankSteps } from './page-data.js';
import { decodeTime } from './time-codes.js';

const cell = (steps: RankSteps, name: string, rank: number, step: number) =>
  decodeTime(steps.metrics.find((m) => m.name === name)!, rank * steps.steps.length + step) / 1e6;

describe('ranks and steps', () => {
  it('hold the times that the report is made of', async () => {
    await inFolder(async (folder) => {
      const fault = { kind: 'data', ranks: [2], size: 0.4 } as const;
      writeRun(
        simulateRun({ seed: 7, ranks: 4, steps: 8, parallelism: 'ddp', eventsPerStep: 40, fault }),
        folder,
      );
      const { page, report } = await diagnoseForPage(folder, null);
      const steps = page.rankSteps!;
      expect(steps.ranks).toEqual([0, 1, 2, 3]);
      expect(steps.steps).toEqual(report.heat!.steps);
      const mean = (name: string, rank: number) =>
        steps.steps.reduce((sum, _, s) => sum + cell(steps, name, rank, s), 0) / steps.steps.length;
      for (const { rank, late_ms } of report.heat!.rows)
        steps.steps.forEach((_, s) => {
          const own = [0, 1, 2, 3].map((r) => cell(steps, 'own', r, s)).sort((a, b) => a - b);
          const median = (own[1]! + own[2]!) / 2;
          expect(cell(steps, 'own', rank, s) - median).toBeCloseTo(late_ms[s]!, 0);
        });
      // The late rank waits for its input, the others for it.
      expect(mean('idle_data', 2)).toBeGreaterThan(10);
      expect(mean('comms_wait', 2)).toBeLessThan(1);
      expect(mean('comms_wait', 0)).toBeGreaterThan(5);
      // A step is as long as its classes together.
      const classes = steps.metrics.filter((m) => m.name !== 'step' && m.name !== 'own');
      const sum = classes.reduce((all, m) => all + mean(m.name, 0), 0);
      expect(sum / mean('step', 0)).toBeCloseTo(1, 1);
    });
  });
});
