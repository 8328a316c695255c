import { expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { DeepReadonly, Plain } from '../src/base/units.js';
import type { TryReport } from '../src/trial/trials.js';
import type { trySchema } from './try-schema.js';

it('has the same fields as the types in trials.ts', () => {
  type Described = DeepReadonly<z.infer<typeof trySchema>>;
  expectTypeOf<Plain<TryReport>>().toExtend<Described>();
  expectTypeOf<Described>().toExtend<Plain<TryReport>>();
});
