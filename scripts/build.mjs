// Builds dist/: declarations by tsc, code by esbuild. Bundled, because loading 80 small modules takes longer than most
// traces. Runs on `npm install` too (prepare), so that bin/whyslow.js works in a checkout.
import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { root, run } from './lib.mjs';
import { noticesOf } from './notices.mjs';

rmSync(new URL('dist', root), { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: fileURLToPath(root),
  entryPoints: { index: 'src/index.ts', cli: 'src/cli/main.ts', worker: 'src/ingest/worker.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // The Parquet library is many small modules that every start would load: it goes into the bundle.
  external: ['commander', 'picocolors', 'fzstd', 'yauzl', 'tinyglobby'],
  logLevel: 'warning',
  metafile: true,
});
// All in one file, for tasks on machines where whyslow is not installed (src/engines).
const task = await build({
  absWorkingDir: fileURLToPath(root),
  entryPoints: ['src/cli/task.ts'],
  outfile: 'dist/task.js',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // Optional, and of no use to a task.
  external: ['@duckdb/node-api'],
  // Packages in the older module format call require.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
  },
  logLevel: 'warning',
  metafile: true,
});
const bundled = [metafile, task.metafile].flatMap(({ inputs }) => Object.keys(inputs));
writeFileSync(new URL('dist/THIRD_PARTY_NOTICES', root), noticesOf(bundled));
run('node', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json']);
