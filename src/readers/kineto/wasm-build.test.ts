import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
// @ts-expect-error: a plain script
import { buildScanner } from '../../../scripts/build-wasm.mjs';

it('wasm/scanner.wasm is what its source compiles to', async () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-wasm-'));
  try {
    const fresh = join(folder, 'scanner.wasm');
    await buildScanner(relative(root, fresh));
    expect(readFileSync(fresh).equals(readFileSync(join(root, 'wasm/scanner.wasm')))).toBe(true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
