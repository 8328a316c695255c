// Runs a TypeScript program of bench/, zoo/ or test/: `node scripts/tool.mjs bench/ingest.ts ARGS`.
import { ensureInstalled, run } from './lib.mjs';

ensureInstalled();
run('node', ['scripts/build.mjs']);
run('node', ['--import', 'tsx', ...process.argv.slice(2)]);
