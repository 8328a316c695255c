// `node scripts/code-cache.mjs NAME`: runs dist/NAME.cjs as people do, and leaves the code that V8 compiled for it in
// dist/NAME.code (bin/code-cache.js loads it). Each in a process of its own: all that ran goes into the file.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { root } from './lib.mjs';

const require = createRequire(import.meta.url);
const { runScript, scriptOf, sealed } = require('../bin/code-cache.js');
const v8 = require('node:v8');
const { setFlagsFromString } = v8;
// V8 refuses code that was compiled with other flags, in Node 22 even where they were set back.
v8.setFlagsFromString = (flag) => flag === '--no-use-osr' || setFlagsFromString(flag);
const fixture = (name) => fileURLToPath(new URL(`zoo/fixtures/${name}`, root));
const [name] = process.argv.slice(2);

const folder = mkdtempSync(join(tmpdir(), 'whyslow-build-'));
const COMMANDS = {
  cli: () => [['--help']],
  // A large file is inflated in a thread: stored without packing it is large.
  diagnose: () => {
    const large = join(folder, 'rank0.json.gz');
    const text = gunzipSync(readFileSync(join(fixture('adam_forloop'), 'rank0.json.gz')));
    writeFileSync(large, gzipSync(text, { level: 0 }));
    return [
      ['diagnose', '--json', large],
      ['diagnose', fixture('data_io_w0')],
      // With shapes and stacks.
      ['diagnose', fixture('fat_trace')],
    ];
  },
};

const file = fileURLToPath(new URL(`dist/${name}.cjs`, root));
const source = readFileSync(file);
const script = scriptOf(file, source);
// V8 drops code that has not run for a while.
setFlagsFromString('--no-flush-bytecode');
try {
  const { main } = runScript(script, file);
  for (const command of COMMANDS[name]()) await main(command);
} finally {
  rmSync(folder, { recursive: true });
}
setFlagsFromString('--flush-bytecode');
writeFileSync(new URL(`dist/${name}.code`, root), sealed(source, script.createCachedData()));
