import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root, whyslow } from '../helpers/cli.js';

/** Recorded on an H200 by bench/triage-gpu.py, with zoo loops running (2026-11-16). */
describe('whyslow triage of loops on a GPU', () => {
  it.each([
    ['data_cpu_w0', 'data', 'data-cpu'],
    ['data_io_w0', 'data', 'data-io'],
    ['gpu_bound_bf16', 'gpu', null],
    ['launch_small', 'host', null],
  ])('%s is %s', async (name, bottleneck, cause) => {
    const file = join(root, 'test/fixtures/triage', `${name}.jsonl`);
    const { stdout, code } = await whyslow(['triage', '--replay', file, '--json']);
    expect(code).toBe(0);
    const { verdict } = JSON.parse(stdout) as { verdict: { bottleneck: string; cause: string } };
    expect(verdict.bottleneck).toBe(bottleneck);
    if (cause !== null) expect(verdict.cause).toBe(cause);
  });
});
