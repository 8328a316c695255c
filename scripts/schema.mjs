// `npm run schema`: writes docs/*.schema.json from the schemas in src/. Tests hold them together.
import { writeFileSync } from 'node:fs';
import { ensureInstalled, root } from './lib.mjs';

ensureInstalled();
const { tsImport } = await import('tsx/esm/api');
const load = (path) => tsImport(`../src/${path}.ts`, import.meta.url);
const [{ jsonSchemaText }, { reportSchema }, { compareSchema }, { trySchema }] = await Promise.all(
  ['report/report-json-schema', 'report/report-schema', 'compare/compare-schema', 'trial/try-schema'].map(
    load,
  ),
);
const schemas = { report: reportSchema, compare: compareSchema, try: trySchema };
for (const [name, schema] of Object.entries(schemas))
  writeFileSync(new URL(`docs/${name}.schema.json`, root), jsonSchemaText(schema));
