import { z } from 'zod';

/** The text of a file such as docs/report.schema.json, for programs that read our JSON. `npm run schema` writes them. */
export function jsonSchemaText(described: z.ZodType): string {
  const schema = z.toJSONSchema(described, { target: 'draft-2020-12' });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
