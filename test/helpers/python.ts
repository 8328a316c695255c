import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'vitest';
import { root } from './cli.js';

/** The Python with torch that `npm test` has set up. */
export const python = join(root, '.venv/bin/python');

/** A suite that runs real jobs. Without that Python it is skipped, which fails CI. */
export const describeWithTorch = describe.skipIf(!existsSync(python));
if (!existsSync(python))
  console.log('skipped without .venv (npm test makes it): tests with real training jobs');

export const job = (name: string) => join(root, 'test/e2e/jobs', name);
