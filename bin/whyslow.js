#!/usr/bin/env node
// CommonJS (bin/package.json), because a module is loaded through libuv's thread pool, and its size is fixed by its
// first use: inflating runs there, and the default of 4 threads would hold up every file beyond the fourth.
const { availableParallelism } = require('node:os');

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`whyslow needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(2);
}
// Node 22.8 and newer keep compiled code for the next start. NODE_DISABLE_COMPILE_CACHE=1 turns it off.
require('node:module').enableCompileCache?.();
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
