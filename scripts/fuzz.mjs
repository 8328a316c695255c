// `npm run fuzz [CASES]`: the property tests of the trace reader with many more damaged files than in CI.
import { ensureInstalled, run } from './lib.mjs';

ensureInstalled();
const env = { ...process.env, WHYSLOW_FUZZ: process.argv[2] ?? '1000000' };
run('node', ['node_modules/vitest/vitest.mjs', 'run', 'test/property', '--testTimeout', '86400000'], { env });
