import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCut } from '../../../test/helpers/readers.js';
import { DMON, drawJob } from '../../../test/helpers/triage.js';
import { recordingLines } from '../../machine/recording-file.js';
import { findReader } from '../registry.js';
import { procSamplesReader } from './descriptor.js';

const job = drawJob({
  processes: [
    { pid: 100, main: 0.6 },
    { pid: 200, parent: 100, name: 'pt_data_worker', waits: 'D' },
  ],
  gpuText: DMON.launch,
});
const bytes = Buffer.from(`${recordingLines(job).join('\n')}\n`);
const read = (input: Uint8Array, cuts: readonly number[] = []) => {
  const result = readCut(procSamplesReader, input, cuts);
  return result;
};
const position = fc.integer({ min: 0, max: bytes.length });

describe('a recording of /proc', () => {
  it('is recognized by its header, and no other file is', () => {
    expect(findReader(bytes)?.id).toBe('proc-samples');
    expect(findReader(bytes.subarray(0, 60))?.id).toBe('proc-samples');
    for (const other of [
      '{"whyslow":1,"run":"a","rank":0}\n{"name":"step"}\n',
      '{"kind":"other"}\n',
      '[]',
      '',
    ])
      expect(findReader(Buffer.from(other))?.id).not.toBe('proc-samples');
  });

  it('is read the same, however its bytes arrive', () => {
    fc.assert(
      fc.property(fc.array(position, { maxLength: 5 }), (cuts) => {
        expect(read(bytes, cuts)).toEqual(read(bytes));
      }),
      { numRuns: 30 },
    );
  });

  it('is read as far as it goes, cut anywhere', () => {
    const whole = read(bytes).recording!.samples;
    fc.assert(
      fc.property(position, (end) => {
        const { recording, problems } = read(bytes.subarray(0, end));
        expect(whole.slice(0, recording?.samples.length ?? 0)).toEqual(recording?.samples ?? []);
        expect(problems.every((p) => p.code === 'cut-line')).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('survives damaged bytes', () => {
    const damage = fc.array(fc.tuple(position, fc.integer({ min: 0, max: 255 })), { maxLength: 20 });
    fc.assert(
      fc.property(damage, (changes) => {
        const copy = Buffer.from(bytes);
        for (const [at, value] of changes) copy[at % copy.length] = value;
        read(copy);
      }),
      { numRuns: 50 },
    );
  });

  it('bounds what it keeps', () => {
    const threads = Array.from({ length: 10_000 }, (_, id) => ({ id }));
    const line = `${JSON.stringify({ sample: { processes: [{ pid: 1, threads }] } })}\n`;
    const header = '{"whyslow":1,"kind":"proc-samples"}\n';
    const { recording, problems } = read(Buffer.from(header + line.repeat(205)));
    expect(recording!.samples).toHaveLength(199);
    expect(problems).toMatchObject([{ code: 'too-many-samples', count: 6 }]);
  });

  it('keeps what nvidia-smi printed, of any length', () => {
    const long = 'x'.repeat(3_000_000);
    const text = recordingLines({ ...job, gpuText: long }).join('\n');
    expect(read(Buffer.from(`${text}\n`))).toMatchObject({ recording: { gpuText: long }, problems: [] });
  });
});
