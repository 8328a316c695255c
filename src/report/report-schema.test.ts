import { readFileSync } from 'node:fs';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import {
  NO_STEP,
  sampleFinding,
  sampleRank,
  sampleReport,
  shares,
} from '../../test/helpers/sample-reports.js';
import type { DeepReadonly, Plain } from '../base/units.js';
import type { Report } from './report.js';
import { jsonSchemaText } from './report-json-schema.js';
import { reportSchema } from './report-schema.js';

const faults = (report: object) =>
  reportSchema.safeParse(report).error?.issues.map((i) => i.path.join('.')) ?? [];

describe('the report', () => {
  it('has the same fields as the types in report.ts', () => {
    type Described = DeepReadonly<z.infer<typeof reportSchema>>;
    expectTypeOf<Plain<Report>>().toExtend<Described>();
    expectTypeOf<Described>().toExtend<Plain<Report>>();
  });

  it('accepts a complete report', () => {
    expect(faults(sampleReport())).toEqual([]);
  });

  it('accepts a report without any figures', () => {
    const unknown = sampleReport({
      step: NO_STEP,
      time: shares({}),
      ranks: [
        sampleRank(0, {
          host: null,
          coordinates: null,
          step_ms: null,
          time: shares({}),
          clock: null,
          gpu: null,
        }),
      ],
    });
    expect(faults(unknown)).toEqual([]);
  });

  it.each<[string, object, string]>([
    ['another schema', { schema: 'whyslow/report/2' }, 'schema'],
    ['fractions that do not add up', { time: shares({ compute: 0.5, idle_host: 0.4 }) }, 'time'],
    ['a fraction above 1', { time: shares({ compute: 1.0005 }) }, 'time.compute'],
    ['a speedup without saving', { findings: [sampleFinding({ saving_ms: null })] }, 'findings.0'],
    [
      'a reversed range',
      { findings: [sampleFinding({ speedup: { low: 3, likely: 2, high: 1 } })] },
      'findings.0.speedup',
    ],
    [
      'an unknown bottleneck',
      { verdict: { ...sampleReport().verdict, bottleneck: 'disk' } },
      'verdict.bottleneck',
    ],
    [
      'a confidence above 1',
      { verdict: { ...sampleReport().verdict, confidence: 93 } },
      'verdict.confidence',
    ],
    ['a step that is NaN', { step: { ...sampleReport().step, ms: Number.NaN } }, 'step.ms'],
    ['an extra field', { step: { ...sampleReport().step, fps: 3 } }, 'step'],
    ['a missing list', { stragglers: undefined }, 'stragglers'],
  ])('refuses %s', (_, change, where) => {
    expect(faults({ ...sampleReport(), ...change })).toEqual([where]);
  });
});

describe('docs/report.schema.json', () => {
  it('is up to date (npm run schema writes it)', () => {
    const committed = readFileSync(new URL('../../docs/report.schema.json', import.meta.url), 'utf8');
    expect(committed).toBe(jsonSchemaText(reportSchema));
  });

  it('is of draft 2020-12 and requires all parts', () => {
    const schema = JSON.parse(jsonSchemaText(reportSchema)) as { $schema: string; required: string[] };
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
    expect(schema.required.sort()).toEqual(Object.keys(sampleReport()).sort());
  });
});
