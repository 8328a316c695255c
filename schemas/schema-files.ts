import { compareSchema } from './compare-schema.js';
import { reportSchema } from './report-schema.js';
import { pythonText } from './schema-python.js';
import { jsonSchemaText, typesText } from './schema-text.js';
import { trySchema } from './try-schema.js';

/** What `npm run schema` writes, by path. */
export const schemaFiles = (): Readonly<Record<string, string>> => ({
  'docs/report.schema.json': jsonSchemaText(reportSchema),
  'docs/compare.schema.json': jsonSchemaText(compareSchema),
  'docs/try.schema.json': jsonSchemaText(trySchema),
  'src/report/report.ts': typesText([reportSchema], 'schemas/report-schema.ts'),
  'src/compare/compare-report.ts': typesText(compareSchema.options, 'schemas/compare-schema.ts'),
  'src/trial/trials.ts': typesText([trySchema], 'schemas/try-schema.ts'),
  'python/src/whyslow/schema.py': pythonText(
    { ReportFields: reportSchema, ComparisonFields: compareSchema.options[0] },
    'schemas/',
  ),
});
