import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reportSchema } from '../../schemas/report-schema.js';
import { recordingLines } from '../../src/machine/recording-file.js';
import { inFolder, root, whyslow } from '../helpers/cli.js';
import { drawJob } from '../helpers/triage.js';

const fixture = (name: string) => join(root, 'test/fixtures', name);

async function report(...paths: string[]) {
  const { code, stdout, stderr } = await whyslow(['diagnose', '--json', ...paths]);
  expect(stderr).toBe('');
  return { code, ...reportSchema.parse(JSON.parse(stdout)) };
}

describe('files next to traces', () => {
  it('a torch log is joined with a trace: it names function, guard and dimension', () =>
    inFolder(async (folder) => {
      cpSync(join(root, 'zoo/fixtures/recompile_ragged/rank0.json.gz'), join(folder, 'rank0.json.gz'));
      cpSync(fixture('torch-logs/limit.txt'), join(folder, 'stderr-rank0.txt'));
      const { findings, inputs } = await report(folder);
      const finding = findings.find((f) => f.rule === 'T16')!;
      expect(finding.speedup).not.toBeNull();
      expect(finding.evidence.map((e) => e.text).join()).toMatch(/dimension 1 of tokens/);
      expect(finding.fix.code).toMatch(/mark_dynamic\(tokens, 1\)/);
      expect(inputs.map((i) => i.kind).toSorted()).toEqual(['kineto', 'torch-log']);
    }));

  it('tell a job that hangs, without any trace', async () => {
    const { code, verdict, findings, health } = await report(fixture('flight-recorder'));
    expect([code, verdict.bottleneck, verdict.cause]).toEqual([0, 'comms', 'stuck-collective']);
    expect(findings[0]).toMatchObject({ rule: 'T21', ranks: [2] });
    expect(health.problems).toEqual([]);
  });

  it('a broken file does no harm to the others', () =>
    inFolder(async (folder) => {
      cpSync(fixture('py-spy/workers.raw.txt'), join(folder, 'rank0.raw.txt'));
      writeFileSync(join(folder, 'cut.json'), '{"entries": [{"collective_seq_id": 1, "pg_config');
      writeFileSync(join(folder, 'cut.sqlite'), 'SQLite format 3\0 and no more');
      writeFileSync(
        join(folder, 'cut.speedscope.json'),
        '{"$schema":"https://www.speedscope.app/file-format-schema.json"',
      );
      const { code, verdict, host_lines, health } = await report(folder);
      expect([code, verdict.bottleneck]).toEqual([0, 'data']);
      expect(host_lines[0]).toMatchObject({ file: 'job.py', line: 29, share: 1 });
      expect(health.problems.map((p) => p.code).toSorted()).toEqual(['broken-dump', 'not-a-database']);
    }));

  it('samples of /proc show what the workers of a job did, also when it was only watched', () =>
    inFolder(async (folder) => {
      const worker = { parent: 100, name: 'pt_data_worker', main: 0.05, waits: 'D', reads: 5e6 };
      const workers = [200, 201].map((pid) => ({ pid, ...worker }));
      const job = drawJob({ processes: [{ pid: 100, main: 0.2 }, ...workers], cores: 8 });
      const samples = join(folder, 'samples.jsonl');
      writeFileSync(samples, `${recordingLines(job).join('\n')}\n`);
      const alone = await report(samples);
      expect(alone.code).toBe(3);
      expect(alone.verdict.next[0]).toBe(`judge the samples of /proc: whyslow triage --replay ${samples}`);

      cpSync(join(root, 'zoo/fixtures', 'epoch_respawn/rank0.json.gz'), join(folder, 'rank0.json.gz'));
      const { findings } = await report(folder);
      const slow = findings.find((f) => f.rule === 'T8')!;
      expect(slow.evidence.map((e) => e.text).join()).toMatch(
        /in \/proc, 2 DataLoader workers: .*disk or network file system 100%.*together they read 10/,
      );
      expect(slow.fix.text).toMatch(/NVMe/);
    }));
});
