// Builds dist/: declarations by tsc, code by esbuild. Bundled, because loading 80 small modules takes longer than most
// traces. `npm pack` runs it too (prepack). Not `prepare`: npm warns about that script wherever the package is installed.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { root, run, tryRun } from './lib.mjs';
import { noticesOf } from './notices.mjs';

rmSync(new URL('dist', root), { recursive: true, force: true });
const absWorkingDir = fileURLToPath(root);
/** Packages in the older module format call `require`, which an ES module does not have. */
const REQUIRE = {
  js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
};
const program = {
  absWorkingDir,
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // Everything is bundled: finding a package takes longer than reading it, and the wheel has no node_modules. DuckDB is optional.
  external: ['@duckdb/node-api'],
  banner: REQUIRE,
  logLevel: 'warning',
  metafile: true,
};
const { metafile } = await build({
  ...program,
  entryPoints: {
    index: 'src/index.ts',
    cli: 'src/cli/all-commands.ts',
    worker: 'src/ingest/worker.ts',
    recorder: 'src/launch/recorder.ts',
    live: 'src/server/live.ts',
  },
});
await build({ ...program, entryPoints: { diagnose: 'src/cli/diagnose-only.ts' } });
// Each also as one file that is loaded with compiled code (bin/code-cache.js).
const whole = await build({
  ...program,
  entryPoints: { diagnose: 'src/cli/diagnose-only.ts', cli: 'src/cli/all-commands.ts' },
  outExtension: { '.js': '.cjs' },
  splitting: false,
  format: 'cjs',
  // Less to read and to check. Names stay: they are in stack traces.
  minifySyntax: true,
  minifyWhitespace: true,
  // Left to bin/whyslow.js, which loads the modules instead: it would double the file that every command loads.
  external: [...program.external, '*/mcp/serve.js'],
  // Node 20 cannot import from compiled code.
  supported: { 'dynamic-import': false },
  define: { 'import.meta.url': 'moduleUrl' },
  banner: {
    js: "(function (exports, require, module, __filename, __dirname) {\nconst moduleUrl = require('node:url').pathToFileURL(__filename).href;",
  },
  footer: { js: '})' },
});
// esbuild leaves regular expressions and comments as they are. The files are read as Latin-1, which V8 takes over as it is.
for (const name of Object.keys(whole.metafile.outputs)) {
  const file = new URL(name, root);
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/[^\0-\x7f]/g, escaped));
}
const browser = {
  absWorkingDir,
  outdir: 'dist/page',
  bundle: true,
  minify: true,
  platform: 'browser',
  target: ['chrome111', 'firefox115', 'safari16.4'],
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
};
// The page, which `whyslow open` serves too, and that of `whyslow compare`: a script and a style sheet each, put into HTML files.
const page = await build({
  ...browser,
  entryPoints: { page: 'web/app/main.tsx', compare: 'web/compare/main.tsx' },
  format: 'iife',
  jsx: 'automatic',
  jsxImportSource: 'preact',
});
// All in one file, for tasks on machines where whyslow is not installed (src/engines).
const task = await build({
  absWorkingDir,
  entryPoints: ['src/cli/task.ts'],
  outfile: 'dist/task.js',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: ['@duckdb/node-api', '*/mcp/serve.js'],
  banner: REQUIRE,
  logLevel: 'warning',
  metafile: true,
});
// The thread of the page that reads dropped traces: the readers and the analysis, with little in place of Node.
const node = (name) => fileURLToPath(new URL(`web/reading/node/${name}.ts`, root));
const reader = await build({
  ...browser,
  entryPoints: { reader: 'web/reading/worker.ts' },
  format: 'esm',
  alias: Object.fromEntries(['buffer', 'fs', 'path', 'zlib'].map((name) => [`node:${name}`, node(name)])),
  inject: [node('buffer')],
  loader: { '.wasm': 'binary' },
  define: { 'process.env.WHYSLOW_DEBUG': 'undefined' },
});
const inputs = [metafile, whole.metafile, page.metafile, reader.metafile, task.metafile].flatMap(
  ({ inputs }) => Object.keys(inputs),
);
writeFileSync(new URL('dist/THIRD_PARTY_NOTICES', root), noticesOf(inputs));
run('node', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json']);
// Last, because it runs what was built. Without it everything works, but starts more slowly.
for (const name of ['cli', 'diagnose']) {
  const status = tryRun(process.execPath, ['scripts/code-cache.mjs', name], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) console.error(`dist/${name}.code was not made: whyslow starts more slowly`);
}
