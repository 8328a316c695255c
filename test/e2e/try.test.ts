import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { trySchema } from '../../schemas/try-schema.js';
import { inFolder, root, start, until, whyslow } from '../helpers/cli.js';
import { describeWithTorch, python } from '../helpers/python.js';

/** Its input takes as long as its steps, so one worker halves the step. Crashes with a fused optimizer. */
const JOB = `
import os, sys, time, torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 100_000
    def __getitem__(self, index):
        time.sleep(0.04)
        return torch.ones(8)

model = torch.nn.Linear(8, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
if optimizer.defaults["fused"]:
    raise RuntimeError("no fused optimizer here")
import io; io.FileIO("started", "w").close()  # past the scratch folder
for x in DataLoader(Slow(), 1):
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.save(model.state_dict(), "checkpoints/last.pt")
    time.sleep(0.04)
`;
/** Findings of a recorded run, so that no first run is needed. */
const FROM = ['--from', join(root, 'zoo/event-logs/data_bound.jsonl.gz')];

interface Trial {
  readonly fix: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly measured: { readonly low: number; readonly likely: number; readonly high: number } | null;
  readonly losses: { readonly verdict: string };
}

const leftovers = (scratch: string) => readdirSync(scratch);

async function prepare(cwd: string): Promise<Record<string, string>> {
  for (const name of ['checkpoints', 'scratch']) await mkdir(join(cwd, name));
  await writeFile(join(cwd, 'checkpoints/last.pt'), 'precious');
  await writeFile(join(cwd, 'train.py'), JOB);
  return { XDG_STATE_HOME: join(cwd, 'state') };
}

describeWithTorch('whyslow try', () => {
  it('measures what the findings of a first run ask for, survives a crash, and leaves the job’s files alone', () =>
    inFolder(async (cwd) => {
      const env = { ...(await prepare(cwd)), OMP_NUM_THREADS: '1' };
      const fixes = ['--only', 'fused-optimizer,loader-workers', '--rounds', '1'];
      const size = ['--steps', '8', '--warmup', '2', '--budget', '5min'];
      const words = ['try', ...fixes, ...size, '--scratch', 'scratch', '--out', 'o', '--json'];
      const ran = await whyslow([...words, '--', python, 'train.py'], { cwd, env });
      expect(ran.code, ran.stderr).toBe(0);
      const trials = JSON.parse(ran.stdout) as Trial[];
      expect(trials.map(({ fix, outcome }) => [fix, outcome])).toEqual([
        ['fused-optimizer', 'crashed'],
        // Two turns on a busy machine may leave it open.
        ['loader-workers', expect.stringMatching(/^(faster|cannot-tell)$/)],
      ]);
      expect(trials[0]!.reason).toBe('RuntimeError: no fused optimizer here');
      expect(trials[1]!.measured!.likely).toBeGreaterThan(1.1);
      expect(trials[1]!.losses.verdict).toBe('identical');
      expect(readFileSync(join(cwd, 'checkpoints/last.pt'), 'utf8')).toBe('precious');
      expect(readdirSync(join(cwd, 'checkpoints'))).toEqual(['last.pt']);
      expect(existsSync(join(cwd, 'o/run.json'))).toBe(true);
      expect(leftovers(join(cwd, 'scratch'))).toEqual([]);
      const whole = trySchema.parse(JSON.parse(readFileSync(join(cwd, 'o/try.json'), 'utf8')));
      if (trials[1]!.outcome === 'faster')
        expect(whole.paste).toEqual([expect.stringMatching(/^DataLoader\(\.\.\., num_workers=\d+, /)]);
      expect(whole.notes.join()).toContain('not redirected: the job writes');
      expect(ran.stderr).toContain('go to a scratch folder');
    }));

  it('says what is known after Ctrl-C, and ends the job', () =>
    inFolder(async (cwd) => {
      const env = await prepare(cwd);
      const words = ['try', '--only', 'gc-frozen', ...FROM, '--out', 'o', '--scratch', 'scratch'];
      const program = [join(root, 'bin/whyslow.js'), ...words, '--steps', '5000', '--', python, 'train.py'];
      const running = start(process.execPath, program, { cwd, env });
      await until(() => existsSync(join(cwd, 'started')), 'the job');
      running.child.kill('SIGINT');
      const { code, stdout } = await running.ended;
      expect(code).toBe(130);
      expect(stdout).toMatch(/gc-frozen .* not tried/);
      expect(leftovers(join(cwd, 'scratch'))).toEqual([]);
      expect(await processesIn(cwd)).toEqual([]);
    }));

  it('says why nothing was measured', () =>
    inFolder(async (cwd) => {
      const env = await prepare(cwd);
      await writeFile(join(cwd, 'train.py'), 'raise ValueError("no data")\n');
      const ran = await whyslow(['try', '--out', 'o', '--', python, 'train.py'], { cwd, env });
      expect(ran.code).toBe(3);
      expect(ran.stderr).toContain('nothing was measured: ValueError: no data');
      expect(readFileSync(join(cwd, 'o/first.log'), 'utf8')).toContain('Traceback');
    }));
});

/** Command lines of processes whose working directory is the folder. */
async function processesIn(cwd: string): Promise<string[]> {
  const { stdout } = await start('sh', ['-c', `ls -l /proc/*/cwd 2>/dev/null | grep -c " ${cwd}$" || true`])
    .ended;
  return stdout.trim() === '0' ? [] : [stdout];
}

describe('whyslow try without a job', () => {
  it('lists its fixes', async () => {
    const { stdout, code } = await whyslow(['try', '--list']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/tf32 +fp32 matrix products in TF32/);
    expect(stdout).toContain('tried for: tf32-off');
  });

  it('shows what it would do, and starts nothing', () =>
    inFolder(async (cwd) => {
      await writeFile(join(cwd, 'train.py'), 'import subprocess\nsubprocess.run(["sync"])  # uploads\n');
      const words = ['try', '--dry-run', '--only', 'tf32', '--', 'python', 'train.py'];
      const { stderr, code } = await whyslow(words, { cwd });
      expect(code).toBe(0);
      expect(stderr).toContain('would try fixes on: python train.py');
      expect(stderr).toContain('fixes: tf32');
      expect(stderr).toContain('train.py:2 starts a program: subprocess.run(["sync"])');
      expect(readdirSync(cwd)).toEqual(['train.py']);
    }));

  it.each([
    [['try'], 'which command?'],
    [['try', '--', 'docker', 'run', 'x'], 'docker runs the job where'],
    [['try', '--only', 'tf23', '--', 'true'], 'there is no fix "tf23"'],
    [['try', '--budget', 'soon', '--', 'true'], 'It must be a time such as 90s, 10min or 1h'],
    [['try', '--from', 'nowhere', '--', 'true'], 'nowhere'],
  ])('%j is bad usage', async (words, reason) => {
    const { code, stderr } = await whyslow(words);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
  });
});
