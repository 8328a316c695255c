import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DMON, drawJob } from '../../test/helpers/triage.js';
import { recordingLines } from '../machine/recording-file.js';
import { triage } from '../report/triage-report.js';
import { readRecording } from './replay.js';

const job = drawJob({
  processes: [
    { pid: 100, main: 0.6, threads: [['pt_autograd_0', 0.3]], environment: { RANK: '0' } },
    { pid: 200, parent: 100, name: 'pt_data_worker', waits: 'poll_schedule_timeout', gpu: null },
  ],
  gpuText: DMON.launch,
  gpus: [0],
  quota: 2.5,
  counters: { periods: 10, received: 5 },
});
const parsed = (text: string) => readRecording(Buffer.from(text));
const text = `${recordingLines(job).join('\n')}\n`;

describe('a recording as a file', () => {
  it('comes back as it was', () => {
    const { recording, skipped } = parsed(text);
    expect(skipped).toBe(0);
    expect(recording.machine).toEqual(job.machine);
    expect(recording.processes).toEqual(job.processes);
    // Times are rounded to microseconds.
    expect(recordingLines(recording)).toEqual(recordingLines(job));
    expect(triage(recording)).toEqual(triage(job));
  });

  it('advises nothing that needs the processes of then', () => {
    const pegged = drawJob({
      processes: [{ pid: 100, main: 0.97 }],
      others: [7],
      gpuText: DMON.launch,
      gpus: [0],
    });
    const [live, replayed] = [triage(pegged), triage(pegged, [], [], false)];
    expect(live.next.join()).toContain('--pid 100');
    expect(replayed.next).toEqual(live.next.map((command) => command.replace(' --pid 100', '')));
    expect(replayed.notes).toEqual([
      'these are samples of here: run the commands there, while the job runs',
      'further jobs trained there (process 7)',
    ]);
  });

  it('has the documented header and names', () => {
    const [header, process] = recordingLines(job).map((line) => JSON.parse(line));
    expect(header).toMatchObject({
      whyslow: 1,
      kind: 'proc-samples',
      machine: { host: 'here', no_gpu: null },
    });
    expect(process.process).toMatchObject({
      pid: 100,
      torch_version: '2.11.0+cu130',
      environment: { RANK: '0' },
    });
  });

  it('is judged as far as it goes, cut anywhere', () => {
    const header = text.indexOf('\n') + 1;
    fc.assert(
      fc.property(fc.integer({ min: header, max: text.length }), (at) => {
        const { recording, skipped } = parsed(text.slice(0, at));
        expect(skipped).toBeLessThanOrEqual(1);
        triage(recording);
      }),
    );
  });

  it('survives any values', () => {
    const odd = fc.record(
      { process: fc.anything(), sample: fc.anything(), gpu_text: fc.anything() },
      { requiredKeys: [] },
    );
    const sample = fc.record({
      seconds: fc.anything(),
      counters: fc.anything(),
      processes: fc.array(
        fc.record({ pid: fc.anything(), threads: fc.anything(), read_chars: fc.anything() }),
      ),
    });
    const lines = fc.array(
      fc.oneof(
        odd,
        sample.map((s) => ({ sample: s })),
      ),
    );
    fc.assert(
      fc.property(lines, (values) => {
        const body = values.map((v) => JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? null : x)) ?? '');
        triage(parsed(['{"whyslow":1,"kind":"proc-samples"}', ...body].join('\n')).recording);
      }),
    );
  });

  it.each(['', 'PK\u0003\u0004', '{"whyslow":1}', '{"traceEvents":[]}', '[]'])('refuses %j', (other) => {
    expect(() => parsed(other)).toThrow('not a recording of `whyslow triage --out`');
  });
});
