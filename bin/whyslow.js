#!/usr/bin/env node
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`whyslow needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(2);
}
const { main } = await import('../dist/cli.js').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  console.error('whyslow is not built yet: run `npm install` in its folder.');
  process.exit(2);
});
process.exitCode = await main(process.argv.slice(2));
