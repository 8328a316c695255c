// Compiles src/ into dist/. Runs on `npm install` too (prepare), so that bin/whyslow.js works in a checkout.
import { rmSync } from 'node:fs';
import { root, run } from './lib.mjs';

rmSync(new URL('dist', root), { recursive: true, force: true });
run('node', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json']);
