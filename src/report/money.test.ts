import { expect, it } from 'vitest';
import { sampleFinding, sampleRank, sampleReport, shares } from '../../test/helpers/sample-reports.js';
import { watchSimulated } from '../../test/helpers/watched-job.js';
import { briefDiagnose } from '../render/brief/diagnose.js';
import { renderDiagnose } from '../render/terminal/diagnose.js';
import { withPrice } from './money.js';

const [incident] = watchSimulated({ steps: 4000, ranks: 2, of: (step) => (step < 2000 ? {} : { data: 42 }) });
const ranks = [0, 1, 2, 3].map((rank) => sampleRank(rank));
const REPORT = sampleReport({
  ranks,
  time: shares({ compute: 0.7, idle_data: 0.3 }),
  findings: [
    sampleFinding({ id: 'num-workers-zero', saving_ms: 16.1 }),
    sampleFinding({ id: 'no-prefetch', saving_ms: null, speedup: null }),
  ],
  incidents: [incident!] as never,
});

it('a price gives the cost of the run, of its bottleneck, of each fix with an estimate, and of incidents', () => {
  const { money, incidents } = withPrice(REPORT, 2.5);
  // 4 GPUs × 24 h × 2.50
  expect(money).toEqual({
    per_gpu_hour: 2.5,
    gpus: 4,
    per_day: 240,
    bottleneck_per_day: 72,
    findings: [{ id: 'num-workers-zero', per_day: 24 }],
  });
  expect(incidents[0]!.cost_per_day).toBeCloseTo(incidents[0]!.rank_hours_per_hour! * 24 * 2.5, 1);
});

it('computing itself is no loss, and a run without steps has no costs but its own', () => {
  const busy = sampleReport({ verdict: { ...REPORT.verdict, bottleneck: 'gpu' } as never });
  expect(withPrice(busy, 1).money).toMatchObject({ per_day: 24, bottleneck_per_day: null });
  const none = sampleReport({ step: { ...REPORT.step, ms: null } as never });
  expect(withPrice(none, 1).money).toMatchObject({ bottleneck_per_day: null, findings: [] });
});

it('the terminal and the brief report show costs only if a price was given, and power only if it was recorded', () => {
  const priced = withPrice(
    { ...REPORT, energy: { watts: 2100, kwh_per_day: 50.4, joules_per_step: 338.1 } },
    2.5,
  );
  for (const text of [renderDiagnose(priced, { color: false, columns: 200 }), briefDiagnose(priced)]) {
    expect(text).toContain(
      'at 2.50 per GPU-hour, 4 GPUs cost 240 per day; 72.00 of it goes to waiting for data',
    );
    expect(text).toContain('power: 2100 W, 50.4 kWh per day, 338 J per step');
    expect(text).toContain('saves 24.00 per day');
    expect(text).toContain('Since step 2,0');
  }
  expect(renderDiagnose(priced, { color: false, columns: 200 })).toMatch(
    /^ {4}costs 0\.\d+ rank-hours per hour, \d+\.\d\d per day$/m,
  );
  for (const text of [renderDiagnose(REPORT, { color: false }), briefDiagnose(REPORT)])
    expect(text).not.toMatch(/per day|GPU-hour|power/);
});
