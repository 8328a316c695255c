import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sampleReport } from '../../test/helpers/sample-reports.js';
import { compareRuns } from './compare-runs.js';
import { profileOfReport } from './report-profile.js';
import { stepsOfRun } from './run-profile.js';

it('reads a report back', () => {
  const report = sampleReport();
  const profile = profileOfReport('a.json', JSON.parse(JSON.stringify(report)))!;
  expect(stepsOfRun(profile)).toEqual([159, 163, 161]);
  expect(profile.report.time).toEqual(report.time);
  expect(profile.report.findings.map((f) => [f.id, f.speedup])).toEqual(
    report.findings.map((f) => [f.id, f.speedup]),
  );
});

it('takes the mean where an older report has no step times', () => {
  const { times_ms: _, ...step } = sampleReport().step;
  expect(stepsOfRun(profileOfReport('a.json', { ...sampleReport(), step })!)).toEqual([161]);
});

it('a report without the schema is not taken for a profile', () => {
  for (const other of [null, 3, [], {}, { schema: 'whyslow/lint/1' }])
    expect(profileOfReport('a.json', other)).toBeNull();
});

it('survives any content', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('step', 'time', 'findings', 'ranks', 'host_lines'), fc.jsonValue()),
      (any) => {
        const profile = profileOfReport('a.json', { ...any, schema: 'whyslow/report/1' })!;
        if (stepsOfRun(profile).some((t) => t > 0))
          expect(['faster', 'slower', 'same', 'cannot-tell']).toContain(
            compareRuns([profile], [profile]).verdict,
          );
      },
    ),
    { numRuns: 60 },
  );
});
