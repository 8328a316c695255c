#!/usr/bin/env node
// CommonJS (bin/package.json), because a module is loaded through libuv's thread pool, and its size is fixed by its
// first use: inflating runs there, and the default of 4 threads would hold up every file beyond the fourth.

// Before anything else, because an old Node knows no `node:fs`.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`whyslow needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(2);
}

const { stat } = require('node:fs');
const { availableParallelism } = require('node:os');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

if (process.argv.length === 3 && ['--version', '-V'].includes(process.argv[2])) {
  // Nothing else is needed for that.
  console.log(require('../package.json').version);
  process.exit();
}
if (process.env.UV_THREADPOOL_SIZE === undefined) {
  process.env.UV_THREADPOOL_SIZE = String(Math.max(4, availableParallelism()));
  stat(__filename, () => {});
  // The pool has started. `whyslow run` gives this environment to the job.
  delete process.env.UV_THREADPOOL_SIZE;
}

// `diagnose` has bundles of its own, which load faster.
const bundle = join(__dirname, '../dist', process.argv[2] === 'diagnose' ? 'diagnose' : 'cli');
load()
  .catch((error) => {
    // Node opens all modules at once.
    if (error.code === 'EMFILE')
      console.error('whyslow: too many open files (`ulimit -n 1024` raises the limit)');
    else if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    else console.error('whyslow is not built yet: run `npm install && npm run build` in its folder.');
    process.exit(2);
  })
  .then(async ({ main }) => {
    process.exitCode = await main(process.argv.slice(2));
  });

/** NODE_DISABLE_COMPILE_CACHE=1 turns off both ways to keep compiled code. */
async function load() {
  // The server of `mcp` is not in the file with compiled code: no other command needs it.
  if (!process.env.NODE_DISABLE_COMPILE_CACHE && process.argv[2] !== 'mcp') {
    const program = require('./code-cache.js').loadProgram(`${bundle}.cjs`, `${bundle}.code`);
    if (program) return program;
  }
  if (!process.env.NODE_DISABLE_COMPILE_CACHE) require('./compile-cache.js').keepCompiledCode();
  return import(pathToFileURL(`${bundle}.js`).href);
}
