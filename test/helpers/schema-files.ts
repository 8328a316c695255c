import { compareSchema } from '../../src/compare/compare-schema.js';
import { reportSchema } from '../../src/report/report-schema.js';
import { pythonText } from '../../src/report/schema-python.js';
import { jsonSchemaText, typesText } from '../../src/report/schema-text.js';
import { trySchema } from '../../src/trial/try-schema.js';

/** What `npm run schema` writes, by path. */
export const schemaFiles = (): Readonly<Record<string, string>> => ({
  'docs/report.schema.json': jsonSchemaText(reportSchema),
  'docs/compare.schema.json': jsonSchemaText(compareSchema),
  'docs/try.schema.json': jsonSchemaText(trySchema),
  'src/report/report.ts': typesText([reportSchema], 'report-schema.ts'),
  'src/compare/compare-report.ts': typesText(compareSchema.options, 'compare-schema.ts'),
  'src/trial/trials.ts': typesText([trySchema], 'try-schema.ts'),
  'python/src/whyslow/schema.py': pythonText(
    { ReportFields: reportSchema, ComparisonFields: compareSchema.options[0] },
    'report-schema.ts and compare-schema.ts',
  ),
});
