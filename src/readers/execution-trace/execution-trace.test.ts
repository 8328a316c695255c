import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readCut } from '../../../test/helpers/readers.js';
import { readInputs } from '../../ingest/read-run.js';
import { findReader } from '../registry.js';
import { executionTraceReader } from './descriptor.js';

/** Written by hand in the layouts of schema 1.0.1, of schema 1.1.0, and of Chakra's converter. */
const IO = '"values": [], "shapes": [], "types": []';
const FILES = {
  'schema 1.0.1': `{
  "schema": "1.0.1", "pid": 7, "time": "2026-11-18 12:00:00", "start_ts": 12,
  "nodes": [
    { "name": "aten::relu", "id": 5, "rf_id": 3, "parent": 4, "fw_parent": 0, "inputs": [], "outputs": [] }
  ]
}`,
  'schema 1.1.0': `{
  "schema": "1.1.0-chakra.0.0.4", "pid": 7, "time": "2026-11-18 12:00:00", "start_ts": 12,
  "nodes": [
    {
      "id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1,
      "inputs": {${IO}}, "outputs": {${IO}},
      "attrs": [{"name": "rf_id", "type": "uint64", "value": 0}]
    }
  ]
}`,
  Chakra:
    '{"workload_graph": [{"Id": 216, "Name": "aten::relu(0)", "NodeType": 4, "ctrlDeps": [3], "runtime": 3}]}',
};
const TRACE = `{"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 7, "tid": 7, "ts": 1, "dur": 2, "args": {}}
]}`;

const folder = mkdtempSync(join(tmpdir(), 'whyslow-et-'));
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe.each(Object.entries(FILES))('an execution trace in the layout of %s', (name, text) => {
  it('is recognized from its first bytes, and names what to pass instead', () => {
    expect(findReader(Buffer.from(text))).toBe(executionTraceReader);
    const { refusal } = readCut(executionTraceReader, text, [3, 50]);
    expect(refusal).toMatch(/execution trace.*without a timeline.*export_chrome_trace/);
  });

  it('is refused alone, without a list of formats', async () => {
    const path = write(`${name}.json`, text);
    const error = await readInputs([path], 'summary', { jobs: 1 }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      message: expect.stringMatching(/cannot be read: it is a PyTorch execution trace/),
      more: [],
    });
  });
});

describe('an execution trace next to the profiler trace of the same run', () => {
  const et = write('et.json', FILES['schema 1.1.0']);
  const trace = write('trace.json', TRACE);

  it('is left out with its reason if it was named', async () => {
    const run = await readInputs([et, trace], 'summary', { jobs: 1 });
    expect(run.members.map((m) => m.path)).toEqual([trace]);
    expect(run.problems.map((p) => [p.code, p.message])).toEqual([
      ['unreadable-file', expect.stringContaining('et.json cannot be used: it is a PyTorch execution trace')],
    ]);
  });

  it('is ignored if it was found in a folder', async () => {
    const run = await readInputs([folder], 'summary', { jobs: 1 });
    expect(run.members.map((m) => m.path)).toEqual([trace]);
    expect(run.ignored).toContain(et);
    expect(run.problems).toEqual([]);
  });
});

describe('files of other formats', () => {
  it.each([
    ['a profiler trace', TRACE],
    ['JSON with nodes only', '{"nodes": [{"id": 1}], "schema": "x"}'],
    ['an empty object', '{}'],
  ])('%s is not taken for an execution trace', (_, text) => {
    expect(executionTraceReader.sniff(Buffer.from(text))).toBe(false);
  });
});
