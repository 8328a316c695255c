import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { inFolder, root, type Started, start, until, whyslow } from '../helpers/cli.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

let running: Started | null = null;
let ofJob = '';

/** The ranks outlive the shell that started them. */
function endRanks(): void {
  running?.child.kill('SIGKILL');
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    if (ofJob && commandOf(pid).includes(ofJob)) process.kill(Number(pid), 'SIGKILL');
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

afterEach(() => {
  endRanks();
  running = null;
});

describeWithTorch('whyslow run of a job whose steps no longer end', () => {
  it('names the rank that holds up the others, though its interpreter is held and it cannot answer', () =>
    inFolder(async (folder) => {
      ofJob = join(folder, 'at-fault');
      const out = join(folder, 'out');
      const ranks = ['bash', join(root, 'bench/lib/start-ranks.sh'), '2', python];
      const command = [...ranks, job('hung_job.py'), 'data', 'gil', '1', ofJob];
      const options = ['--no-trace', '--no-telemetry', '--no-diagnose', '--out', out];
      running = start(process.execPath, [join(root, 'bin/whyslow.js'), 'run', ...options, '--', ...command], {
        env: { WHYSLOW_STUCK_AFTER: '2', OMP_NUM_THREADS: '1', MASTER_PORT: '29658' },
      });
      const { said } = running;
      await until(() => /py-spy dump|No step|no step/.test(said.stderr), 'the run notices', 200);
      expect(said.stderr).toMatch(
        /no step has ended for a long time\. The job hangs: rank 1 is at .*hung_job\.py:\d+ in write_report while rank 0 waits for it in all_reduce/,
      );
      expect(existsSync(join(out, 'stuck', 'flight_rank_0.json'))).toBe(true);
      endRanks();
      // Steps were measured, but what stopped them comes first.
      const { stdout } = await whyslow(['diagnose', out, '--json']);
      expect(JSON.parse(stdout).verdict).toMatchObject({ label: 'The job hangs', cause: 'rank-elsewhere' });
    }));
});
