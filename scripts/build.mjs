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
  // What every start loads goes into the bundle: finding a package takes longer than reading it. The banner is for those
  // in CommonJS: an ES module has no `require` of its own.
  external: ['yauzl', 'tinyglobby'],
  banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
  logLevel: 'warning',
  metafile: true,
});
writeFileSync(new URL('dist/THIRD_PARTY_NOTICES', root), noticesOf(Object.keys(metafile.inputs)));
run('node', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json']);
