import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { root } from '../helpers/cli.js';

/** Logs of real loops on an H200 (zoo/event-logs): what each is bound by is known from how it was made. */
const EXPECTED = {
  host_bound: 'host',
  host_bound_item: 'host',
  gpu_bound: 'gpu',
  gpu_bound_item: 'gpu',
  data_bound: 'data',
  data_hidden: 'gpu',
  injected_host: 'host',
  injected_gpu: 'gpu',
  injected_data: 'data',
} as const;

it.each(Object.entries(EXPECTED))('%s: %s', async (name, bottleneck) => {
  const path = join(root, 'zoo/event-logs', `${name}.jsonl.gz`);
  const report = await diagnose([path], { steps: null, ranks: null, jobs: 1 });
  expect(report.verdict.bottleneck, report.verdict.sentence).toBe(bottleneck);
  // All of them pin their batches and copy without waiting.
  expect(report.findings.map((f) => f.rule)).not.toContain('T6');
  expect(report.health.grade).not.toBe('poor');
});
