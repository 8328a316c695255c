import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { DeepReadonly, Plain } from '../src/base/units.js';
import type { Report } from '../src/report/report.js';
import { NO_STEP, sampleFinding, sampleRank, sampleReport, shares } from '../test/helpers/sample-reports.js';
import { reportSchema } from './report-schema.js';
import { schemaFiles } from './schema-files.js';
import { jsonSchemaText } from './schema-text.js';

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

/** As biome formats it: the committed file is. */
function formatted(path: string, text: string): string {
  if (!path.endsWith('.ts')) return text;
  const biome = fileURLToPath(new URL('../node_modules/@biomejs/biome/bin/biome', import.meta.url));
  const cwd = fileURLToPath(new URL('../', import.meta.url));
  return execFileSync(process.execPath, [biome, 'format', `--stdin-file-path=${path}`], {
    cwd,
    input: text,
    encoding: 'utf8',
  });
}

it.each(Object.entries(schemaFiles()))('%s is up to date (npm run schema writes it)', (path, text) => {
  const committed = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  expect(committed).toBe(formatted(path, text));
});

describe('docs/report.schema.json', () => {
  it('is of draft 2020-12 and requires all parts', () => {
    const schema = JSON.parse(jsonSchemaText(reportSchema)) as { $schema: string; required: string[] };
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
    expect(schema.required.sort()).toEqual(Object.keys(sampleReport()).sort());
  });
});
