import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readInputs } from '../../ingest/read-run.js';
import { findReader } from '../registry.js';
import { torchLogReader } from '../torch-log/descriptor.js';
import { torchTraceReader } from './descriptor.js';

const LOG = `V1118 12:00:00.403000 77 torch/_dynamo/utils.py:1288] {"chromium_event": {}, "rank": 0, "has_payload": "d8"}
\t{
\t"name": "dynamo"
\t}
V1118 12:00:00.404000 77 torch/_logging/structured.py:22] {"str": ["train.py", 0]}
`;
const folder = mkdtempSync(join(tmpdir(), 'whyslow-torch-trace-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a TORCH_TRACE log', () => {
  it('is recognized from its first line', () => {
    expect(findReader(Buffer.from(LOG))).toBe(torchTraceReader);
  });

  it('is refused with its name and what to pass instead, without a list of formats', async () => {
    const path = join(folder, 'dedicated_log_torch_trace_rank_0.log');
    writeFileSync(path, LOG);
    const error = await readInputs([path], 'summary', { jobs: 1 }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      message: expect.stringMatching(/TORCH_TRACE log of torch\.compile .*no timeline.*export_chrome_trace/),
      more: [],
    });
  });

  it.each([
    [
      'a TORCH_LOGS line',
      'V1118 12:00:00.403000 77 torch/_dynamo/guards.py:27] [0/1] [__recompiles] Recompiling f',
    ],
    ['a log of another program', 'I1118 12:00:00.403000 77 main.cc:3] {"a": 1}'],
    ['JSON', '{"traceEvents": []}'],
  ])('%s is not taken for one', (_, text) => {
    expect(torchTraceReader.sniff(Buffer.from(text))).toBe(false);
  });

  it('does not take over what a job under TORCH_LOGS wrote', () => {
    const text =
      'V1118 12:00:00.403000 77 torch/_dynamo/guards.py:2791] [0/1] [__recompiles] Recompiling function f in train.py:3\n';
    expect(findReader(Buffer.from(text))).toBe(torchLogReader);
  });
});
