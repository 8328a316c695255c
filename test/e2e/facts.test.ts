import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { versionOf } from '../../scripts/version.mjs';
import { quoted } from '../../src/base/printable.js';
import { FACTS_FORMAT } from '../../src/readers/facts/format.js';
import type { Report } from '../../src/report/report.js';
import { cases, countCases } from '../helpers/cases.js';
import { inFolder, root, whyslow } from '../helpers/cli.js';
import { describeWithShared, SHARED } from '../helpers/shared.js';
import { writeCapture } from '../helpers/simulate/capture-files.js';
import type { SimulateOptions } from '../helpers/simulate/options.js';
import { simulateRun, writeRun } from '../helpers/simulate/simulate.js';

/** The built library, because that has threads. */
const { diagnose, facts } = (await import(
  join(root, 'dist/index.js')
)) as typeof import('../../src/index.js');

/** A report as text, without where the files were. */
const textOf = (report: Report, folder: string) =>
  JSON.stringify({ ...report, ignored: [] })
    // Commands to paste quote a path with a space.
    .replaceAll(quoted(folder), '')
    .replaceAll(folder, '')
    .replaceAll('.facts', '');

/** Reports from traces and from their facts. */
async function both(traces: string, out: string): Promise<readonly [string, string]> {
  await facts(traces, { folder: out });
  return [textOf(await diagnose(traces), traces), textOf(await diagnose(out), out)];
}

const KINDS = ['gpu', 'data', 'host', 'compile', 'gc'] as const;
const simulated = (seed: number): SimulateOptions => ({
  seed,
  ranks: [4, 8, 20][seed % 3]!,
  ranksPerHost: 4,
  steps: 5,
  eventsPerStep: 80,
  parallelism: (['ddp', 'fsdp', 'pipeline', 'mesh2d'] as const)[seed % 4]!,
  startSkewMs: 100 * (seed % 2),
  withoutSeq: seed % 7 === 0,
  fault: seed % 5 === 4 ? null : { kind: KINDS[seed % 5]!, ranks: [(seed * 7) % 4], size: 0.3 },
});

describe('facts', () => {
  const seeds = Array.from({ length: cases(2, 4) }, (_, seed) => seed);
  countCases(seeds.length);

  it(`facts of ${seeds.length} simulated runs give the report that their traces give`, async () => {
    for (const seed of seeds)
      await inFolder(async (folder) => {
        const traces = join(folder, 'run');
        const run = simulateRun(simulated(seed));
        if (seed % 2 === 0) writeRun(run, traces);
        else writeCapture(run, traces, { traces: true, logs: seed % 4 === 1, telemetry: true });
        const [fromTraces, fromFacts] = await both(traces, join(folder, 'facts'));
        expect(fromFacts, `seed ${seed}`).toBe(fromTraces);
      });
  }, 7_200_000);

  it('mix with traces', () =>
    inFolder(async (folder) => {
      const paths = writeRun(simulateRun(simulated(1)), join(folder, 'run'));
      const out = join(folder, 'facts');
      await facts(paths.slice(0, 3), { folder: out });
      const mixed = textOf(await diagnose([out, ...paths.slice(3)]), out)
        .replaceAll(join(folder, 'run'), '')
        // In advice: the folder that holds both.
        .replaceAll(`diagnose ${folder} `, 'diagnose  ');
      expect(mixed).toBe(textOf(await diagnose(paths), join(folder, 'run')));
    }));

  it('facts of another version, and broken ones, are refused with a sentence', () =>
    inFolder(async (folder) => {
      const [path] = writeRun(simulateRun(simulated(0)), join(folder, 'run'));
      const out = join(folder, 'facts');
      await facts(path!, { folder: out });
      const file = join(out, readdirSync(out)[0]!);
      const bytes = gunzipSync(readFileSync(file));
      const text = bytes.toString('latin1');
      const become = (changed: string) => writeFileSync(file, gzipSync(Buffer.from(changed, 'latin1')));
      become(text.replace(`"whyslow_facts":${FACTS_FORMAT}`, '"whyslow_facts":77'));
      const newer = await whyslow(['diagnose', file]);
      expect(newer.code).toBe(2);
      expect(newer.stderr).toContain(
        `has format 77, written by whyslow ${versionOf()}; this version reads format ${FACTS_FORMAT}`,
      );
      // In a folder with other files too, it is not passed over in silence.
      writeRun(simulateRun(simulated(0)), out);
      const { health } = await diagnose(out);
      expect(health.problems).toMatchObject([
        {
          code: 'broken-facts',
          message: expect.stringContaining(`${file}: the facts file has format 7`) as string,
          consequence: expect.stringContaining('update whyslow, or make it again') as string,
        },
      ]);
      become(text.replace('"count":', '"cuont":'));
      expect((await whyslow(['diagnose', file])).stderr).toMatch(
        new RegExp(`not what format ${FACTS_FORMAT} holds: .*count: expected a value`),
      );
      become(text.slice(0, text.length / 2));
      expect((await whyslow(['diagnose', file])).stderr).toMatch(
        /^whyslow: .* cannot be read: the facts file is cut short or broken; make it again .*\n$/,
      );
      // Each of several is named with its own reason, and none counts as a file of no interest.
      const old = text.replace(`"whyslow_facts":${FACTS_FORMAT}`, '"whyslow_facts":1');
      writeFileSync(join(out, 'old.facts'), gzipSync(Buffer.from(old, 'latin1')));
      writeFileSync(join(out, 'rank-9.json.gz'), '');
      const both = await diagnose(out);
      expect(both.ignored).toEqual([]);
      const messageOf = (code: string) => both.health.problems.find((p) => p.code === code)!.message;
      expect(messageOf('broken-facts')).toMatch(/old\.facts: .*format 1.*; .*: .*cut short or broken$/);
      expect(messageOf('unreadable-file')).toMatch(/rank-9\.json\.gz cannot be used: it is empty$/);
    }));

  it('know which steps they are of', () =>
    inFolder(async (folder) => {
      writeRun(simulateRun(simulated(0)), join(folder, 'run'));
      const out = join(folder, 'facts');
      const made = await whyslow(['facts', join(folder, 'run'), '-o', out, '--steps', '1-3']);
      expect(made).toMatchObject({ code: 0, stderr: '' });
      expect(made.stdout).toMatch(/^Facts of 4 traces: .* in .*\nNext: whyslow diagnose .* --steps 1-3\n$/);
      expect((await diagnose(out, { steps: { first: 1, last: 3 } })).step).toMatchObject({
        first: 1,
        last: 3,
      });
      const other = await whyslow(['diagnose', out]);
      expect(other.code).toBe(2);
      expect(other.stderr).toContain('has facts of steps 1-3 only: add --steps 1-3, or');
    }));

  it('do not go where they would be read twice', () =>
    inFolder(async (folder) => {
      writeRun(simulateRun(simulated(0)), folder);
      const inside = await whyslow(['facts', folder, '-o', join(folder, 'facts')]);
      expect(inside).toMatchObject({ code: 2, stdout: '' });
      expect(inside.stderr).toContain('choose a folder outside of what is read');
      expect((await whyslow(['facts', folder])).stderr).toBe('whyslow: say where the facts go: -o DIR\n');
    }));

  it('facts that cannot be written are an error in one line', () =>
    inFolder(async (folder) => {
      writeRun(simulateRun(simulated(0)), join(folder, 'run'));
      writeFileSync(join(folder, 'file'), '');
      const to = (out: string) => whyslow(['facts', join(folder, 'run'), '-o', out]);
      const cases: readonly (readonly [out: string, why: string])[] = [
        ['/proc/whyslow/facts', '/proc/whyslow/facts: no such file or directory'],
        [join(folder, 'file'), `${join(folder, 'file')}: there is a file of that name`],
        [join(folder, 'file/a'), `${join(folder, 'file/a')}: a part of the path is a file`],
      ];
      for (const [out, why] of cases)
        expect(await to(out)).toEqual({
          code: 2,
          stdout: '',
          stderr: `whyslow: cannot make the folder ${why}\n`,
        });
      // One of four: the others are written, and it is a failure all the same.
      mkdirSync(join(folder, 'facts/rank-2.json.gz.facts'), { recursive: true });
      const { code, stderr } = await to(join(folder, 'facts'));
      expect(code).toBe(2);
      expect(stderr).toMatch(/^whyslow: cannot write .*rank-2\.json\.gz\.facts: .*\n$/);
      expect(readdirSync(join(folder, 'facts')).filter((name) => name.startsWith('.'))).toEqual([]);
    }));

  it('facts of another run in the same folder are named', () =>
    inFolder(async (folder) => {
      const [first, second] = writeRun(simulateRun(simulated(0)), join(folder, 'run'));
      const make = (path: string) => whyslow(['facts', path, '-o', 'facts'], { cwd: folder });
      expect((await make(first!)).stderr).toBe('');
      expect((await make(first!)).stderr).toBe('');
      expect((await make(second!)).stderr).toMatch(
        /^whyslow: facts also has facts of other traces: \S+\.facts → diagnose reads them too; .*\n$/,
      );
    }));

  it('facts in shares cover every file once', () =>
    inFolder(async (folder) => {
      const paths = writeRun(simulateRun(simulated(0)), join(folder, 'run'));
      const out = join(folder, 'facts');
      for (const share of ['0/3', '1/3', '2/3'])
        await whyslow(['facts', join(folder, 'run'), '-o', out, '--share', share]);
      expect(readdirSync(out).filter((f) => f.endsWith('.facts'))).toHaveLength(paths.length);
      expect(textOf(await diagnose(out), out)).toBe(
        textOf(await diagnose(join(folder, 'run')), join(folder, 'run')),
      );
    }));
});

describeWithShared('zoo-ranks', 'facts of recorded runs', () => {
  it.each(['balanced', 'comms_bound', 'straggler_host'])('facts of %s give the same report', (name) =>
    inFolder(async (folder) => {
      const [fromTraces, fromFacts] = await both(join(SHARED, 'zoo-ranks', name), folder);
      expect(fromFacts).toBe(fromTraces);
      for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).size).toBeLessThan(2e6);
    }),
  );
});
