import { z } from 'zod';
import { reportSchema } from './report-schema.js';

/** The text of docs/report.schema.json, for programs that read reports. `npm run schema` writes it. */
export function reportJsonSchemaText(): string {
  const schema = z.toJSONSchema(reportSchema, { target: 'draft-2020-12' });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
