#!/usr/bin/env node
// CommonJS (bin/package.json), because a module is loaded through libuv's thread pool, and its size is fixed by its
// first use: inflating runs there, and the default of 4 threads would hold up every file beyond the fourth.
const { lstatSync, mkdirSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { availableParallelism, tmpdir } = require('node:os');
const { join } = require('node:path');

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`whyslow needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(2);
}
keepCompiledCode();
const chosenByUser = process.env.UV_THREADPOOL_SIZE !== undefined;
process.env.UV_THREADPOOL_SIZE ??= String(Math.max(4, availableParallelism()));

// `diagnose` has a bundle of its own, which loads faster.
import(process.argv[2] === 'diagnose' ? '../dist/diagnose.js' : '../dist/cli.js')
  .catch((error) => {
    // Node opens all modules at once.
    if (error.code === 'EMFILE')
      console.error('whyslow: too many open files (`ulimit -n 1024` raises the limit)');
    else if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    else console.error('whyslow is not built yet: run `npm install` in its folder.');
    process.exit(2);
  })
  .then(async ({ main }) => {
    // Loading has used the pool, so its size is fixed; `whyslow run` gives this environment to the job.
    if (!chosenByUser) delete process.env.UV_THREADPOOL_SIZE;
    process.exitCode = await main(process.argv.slice(2));
  });

/** Node 22.8 and newer keep compiled code for the next start. NODE_DISABLE_COMPILE_CACHE=1 turns it off. */
function keepCompiledCode() {
  if (!enableCompileCache || process.env.NODE_DISABLE_COMPILE_CACHE) return;
  // Temporary folders of Windows are the user's own. Elsewhere another user may make the folder of Node's choice first, and
  // what is in it is run.
  if (!process.getuid) return void enableCompileCache();
  const folder = join(tmpdir(), `whyslow-cache-${process.getuid()}`);
  try {
    if (!lstatSync(folder, { throwIfNoEntry: false })) mkdirSync(folder, { mode: 0o700 });
    const stats = lstatSync(folder);
    const isPrivate = stats.isDirectory() && (stats.mode & 0o077) === 0;
    if (isPrivate && stats.uid === process.getuid()) enableCompileCache(folder);
  } catch {
    // A start without it takes a little longer.
  }
}
