// Builds wasm/scanner.wasm from wasm/assembly. The result is committed; src/readers/kineto/wasm-build.test.ts checks it.
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {string} outFile relative to the repository's root */
export async function buildScanner(outFile) {
  const { error, stderr } = await asc.main(
    [
      'wasm/assembly/index.ts',
      ...['--outFile', outFile, '--baseDir', root],
      ...['-O3', '--converge', '--noAssert', '--runtime', 'stub'],
      ...['--enable', 'simd', '--enable', 'bulk-memory', '--initialMemory', '64', '--maximumMemory', '65536'],
    ],
    {},
  );
  if (error) throw new Error(`asc failed: ${error.message}\n${stderr.toString()}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildScanner('wasm/scanner.wasm');
