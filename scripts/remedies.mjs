// `npm run remedies`: writes what the Python part reads of the catalog of fixes (src/remedies). A test compares both.
import { writeFileSync } from 'node:fs';
import { ensureInstalled, root } from './lib.mjs';

ensureInstalled();
const { tsImport } = await import('tsx/esm/api');
const { pythonData } = await tsImport('../src/remedies/python-data.ts', import.meta.url);
for (const [path, text] of pythonData()) writeFileSync(new URL(`python/src/${path}`, root), text);
