// `npm run schema`: writes docs/*.schema.json and the types of reports from schemas/. Tests hold them together.
import { writeFileSync } from 'node:fs';
import { ensureInstalled, root, run } from './lib.mjs';

ensureInstalled();
const { tsImport } = await import('tsx/esm/api');
const { schemaFiles } = await tsImport('../schemas/schema-files.ts', import.meta.url);
const files = schemaFiles();
for (const [path, text] of Object.entries(files)) writeFileSync(new URL(path, root), text);
const types = Object.keys(files).filter((path) => path.endsWith('.ts'));
run(process.execPath, ['node_modules/@biomejs/biome/bin/biome', 'format', '--write', ...types]);
