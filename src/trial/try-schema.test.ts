import { readFileSync } from 'node:fs';
import { expect, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { DeepReadonly, Plain } from '../base/units.js';
import { jsonSchemaText } from '../report/report-json-schema.js';
import type { TryReport } from './trials.js';
import { trySchema } from './try-schema.js';

it('has the same fields as the types in trials.ts', () => {
  type Described = DeepReadonly<z.infer<typeof trySchema>>;
  expectTypeOf<Plain<TryReport>>().toExtend<Described>();
  expectTypeOf<Described>().toExtend<Plain<TryReport>>();
});

it('docs/try.schema.json is up to date (npm run schema writes it)', () => {
  const committed = readFileSync(new URL('../../docs/try.schema.json', import.meta.url), 'utf8');
  expect(committed).toBe(jsonSchemaText(trySchema));
});
