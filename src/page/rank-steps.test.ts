import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { drawJson, steps as drawSteps } from '../../test/helpers/draw-trace.js';
import { inFolder } from '../../test/helpers/folder.js';
import { simulateRun, writeRun } from '../../test/helpers/simulate/simulate.js';
import { diagnoseForPage } from '../library/page.js';
import type { RankSteps } from './page-data.js';
import { decodeTime } from './page-data.js';

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

  it('divide as the answer does, where a trace sees computing outside the phases of the log', async () => {
    await inFolder(async (folder) => {
      // A loss outside forward and backward takes 50 of 100 ms: only the trace sees that it computes.
      const drawing = drawSteps(
        6,
        100_000,
        'host 1   ProfilerStep#1 0-100000 | aten::mm 0-40000 | aten::log 40000-95000',
      );
      writeFileSync(
        join(folder, 'trace.json'),
        drawJson(drawing, { distributedInfo: { rank: 0, world_size: 1 } }),
      );
      const log = Array.from({ length: 20 }, (_, i) => {
        const waits = i === 10 ? 30 : 0;
        const record = (name: string, from: number, ms: number) =>
          `{"name":"${name}","step":${i + 1},"rank":0,"duration_ms":${ms},"start_ms":${i * 100 + (i > 10 ? 30 : 0) + from},"clock":"host"}`;
        const phases = [record('training_step', 0, 100 + waits), record('forward', waits, 40)];
        return [...phases, ...(waits > 0 ? [record('data_wait', 0, waits)] : [])].join('\n');
      });
      writeFileSync(join(folder, 'cuda_events_rank_0.jsonl'), log.join('\n'));
      const { page, report } = await diagnoseForPage(folder, null);
      const steps = page.rankSteps!;
      const sum = (name: string) =>
        steps.steps.reduce((all, _, s) => all + cell(steps, name, 0, s), 0) / steps.steps.length;
      expect(report.time.compute).toBeGreaterThan(0.85);
      expect(sum('compute') / sum('step')).toBeCloseTo(report.time.compute, 1);
      expect(steps.dividedByLogs).toBe(false);
      // The step that waited still differs from the others.
      const waited = steps.steps.indexOf(11);
      expect(cell(steps, 'idle_data', 0, waited)).toBeGreaterThan(10);
      expect(cell(steps, 'idle_data', 0, waited - 1)).toBeLessThan(5);
    });
  });
});
