// `npm run schema`: writes docs/report.schema.json from src/report/report-schema.ts. A test holds the two together.
import { writeFileSync } from 'node:fs';
import { ensureInstalled, root } from './lib.mjs';

ensureInstalled();
const { tsImport } = await import('tsx/esm/api');
const { reportJsonSchemaText } = await tsImport('../src/report/report-json-schema.ts', import.meta.url);
writeFileSync(new URL('docs/report.schema.json', root), reportJsonSchemaText());
