import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { compare } from '../../src/library/compare.js';
import { diagnose } from '../../src/library/diagnose.js';
import { SOAK } from '../helpers/cases.js';
import { inFolder, root, whyslow } from '../helpers/cli.js';
import { toPftrace } from '../helpers/pftrace/encode.js';
import { Message } from '../helpers/pftrace/message.js';

const fixture = (name: string) => join(root, 'zoo/fixtures', name, 'rank0.json.gz');
const write = (json: string, to: string) =>
  writeFileSync(to, gzipSync(toPftrace(readFileSync(json)), { level: 1 }));

type Report = Awaited<ReturnType<typeof diagnose>>;
const answer = ({ verdict, step, findings }: Report) => ({
  bottleneck: verdict.bottleneck,
  ms: Number(step.ms!.toPrecision(3)),
  findings: findings.map((f) => f.id),
});

const QUICK = ['data_io_w0', 'd2h_logits', 'h2d_pageable', 'fat_trace', 'graph_eager'];
const ZOO = SOAK ? readdirSync(join(root, 'zoo/fixtures')).filter((name) => !name.includes('.')) : QUICK;
/** Render stages do not say where copies from pinned memory go: the answer is unknown where they decide. */
const UNDECIDED = ['h2d_pinned', 'h2d_small_nonblocking'];
/** What the name of the GPU would rule out: the exporter does not write it. */
const WITHOUT_RATES = ['tf32-off', 'not-sixteen-bit'];

describe('files that torch 2.15 wrote with its second backend, of windows made from zoo traces', () => {
  it.each([
    ...['h2d_pageable.json.gz', 'h2d_pageable.pftrace', 'graph_captured.pftrace'],
    ...['elementwise_big.json.gz', 'elementwise_big.pftrace'],
  ])('%s gets the same verdict, step and findings as the JSON of Kineto', async (name) => {
    const expected = answer(await diagnose(fixture(name.split('.')[0]!)));
    const own = answer(await diagnose(join(root, 'test/fixtures/perfetto', `torch-2.15-${name}`)));
    const findings = own.findings.filter(
      (id) => expected.findings.includes(id) || !WITHOUT_RATES.includes(id),
    );
    expect({ ...own, findings }).toEqual(expected);
  });

  it.each(['json.gz', 'pftrace'])(
    'show by the counters of the GPU what sets the pace of its kernels (.%s)',
    async (kind) => {
      const { verdict, hardware } = await diagnose(
        join(root, `test/fixtures/perfetto/torch-2.15-elementwise_big.${kind}`),
      );
      expect(verdict.sentence).toMatch(/counters show 90% of its memory bandwidth in use/);
      expect(hardware!.text[0]).toMatch(/multiprocessors active 100%, tensor cores 0%, memory bandwidth 90%/);
      expect((await diagnose(fixture('elementwise_big'))).verdict.sentence).not.toMatch(/counters/);
    },
  );
});

describe('traces of an H200, converted', () => {
  it.each(ZOO)(
    '%s gets the same verdict, step and findings as the JSON',
    (name) =>
      inFolder(async (folder) => {
        const expected = answer(await diagnose(fixture(name)));
        const path = join(folder, 'rank0.pftrace.gz');
        write(fixture(name), path);
        const report = await diagnose(path);
        if (UNDECIDED.includes(name)) {
          expect(report.verdict.bottleneck).toBe('unknown');
          expect(report.verdict.sentence).toMatch(/does not say in which direction/);
          return;
        }
        const own = answer(report);
        const findings = own.findings.filter(
          (id) => expected.findings.includes(id) || !WITHOUT_RATES.includes(id),
        );
        expect({ ...own, findings }).toEqual(expected);
      }),
    120_000,
  );

  it(
    'ranks come from the names of files, and collectives from the operators',
    () =>
      inFolder(async (folder) => {
        const from = join(root, 'test/fixtures/zoo-ranks/comms_bound');
        const ranks = readdirSync(from).filter((name) => /^rank\d\.json\.gz$/.test(name));
        for (const name of ranks) write(join(from, name), join(folder, name.replace('.json', '.pftrace')));
        const [json, report] = [await diagnose(ranks.map((n) => join(from, n))), await diagnose(folder)];
        expect(answer(report)).toEqual(answer(json));
        expect(report.inputs.map((i) => [i.kind, i.rank])).toEqual(
          [0, 1, 2, 3].map((rank) => ['perfetto', rank]),
        );
      }),
    60_000,
  );
});

describe('other commands', () => {
  it(
    'read a .pftrace as they read JSON',
    () =>
      inFolder(async (folder) => {
        const path = join(folder, 'rank0.pftrace.gz');
        write(fixture('data_io_w0'), path);
        const expected = answer(await diagnose(path));
        const run = async (...args: string[]) => {
          const { code, stderr, stdout } = await whyslow(args);
          expect(code, `${args.join(' ')}: ${stderr}`).toBe(0);
          return stdout;
        };
        const at = (name: string) => join(folder, name);
        expect(await run('inspect', path)).toMatch(/1 Perfetto trace: 4338 events/);
        await run('facts', path, '-o', at('facts'));
        expect(answer(await diagnose(at('facts')))).toEqual(expected);
        await run('export', path, '--out', at('tables'));
        expect(readdirSync(at('tables'))).toContain('kernels.parquet');
        // From the columns, as JSON.
        await run('slim', path, '-o', at('slim.json.gz'), '--steps', '4-5');
        expect(answer(await diagnose(at('slim.json.gz')))).toMatchObject({
          ...expected,
          ms: expect.any(Number),
        });
        await run('merge', path, '-o', at('merged.json.gz'));
        expect(answer(await diagnose(at('merged.json.gz')))).toEqual(expected);
        const same = await compare([path], [fixture('data_io_w0')]);
        expect(same.step!.after_ms / same.step!.before_ms).toBeCloseTo(1, 3);
      }),
    120_000,
  );
});

describe('files that cannot be used', () => {
  it('a trace of a phone gets one sentence', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'phone.pftrace');
      const ftrace = new Message().message(1, new Message().message(1, new Message().number(1, 3)));
      writeFileSync(path, Buffer.concat(Array.from({ length: 9 }, () => ftrace.finish())));
      const { code, stderr } = await whyslow(['diagnose', path]);
      expect(code).toBe(2);
      expect(stderr).not.toMatch(/^\s+at /m);
      expect(stderr).toMatch(/phone\.pftrace.*Perfetto trace, but not one of the PyTorch profiler/s);
    }));

  it('a trace that was cut is read as far as it goes, and says so', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'cut.pftrace');
      const whole = toPftrace(readFileSync(fixture('data_io_w0')));
      writeFileSync(path, whole.subarray(0, whole.length - 5000));
      const report = await diagnose(path);
      expect(report.inputs[0]!.problems.map((p) => p.code)).toContain('truncated-trace');
      expect(report.verdict.bottleneck).toBe('data');
      // Operators come first, then CUDA calls, then GPU work: here all of that is missing, and it is not taken for a CPU job.
      writeFileSync(path, whole.subarray(0, whole.length * 0.6));
      expect((await diagnose(path)).verdict.sentence).toMatch(/^Unknown: the file is cut/);
      const packed = join(folder, 'cut.pftrace.gz');
      const gz = gzipSync(whole);
      writeFileSync(packed, gz.subarray(0, gz.length - 500));
      const codes = (await diagnose(packed)).inputs[0]!.problems.map((p) => p.code);
      expect(codes).toContain('truncated-gzip');
    }));
});
