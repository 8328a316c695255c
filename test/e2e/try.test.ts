import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { trySchema } from '../../schemas/try-schema.js';
import { findProtection } from '../../src/trial/protect/protection.js';
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
for x in DataLoader(Slow(), 1):
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    try:
        torch.save(model.state_dict(), "checkpoints/last.pt")
        os.remove("checkpoints/older.pt")
    except (OSError, RuntimeError):
        pass  # removed already, or all writes are denied
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
  for (const name of ['last.pt', 'older.pt']) await writeFile(join(cwd, 'checkpoints', name), 'precious');
  await writeFile(join(cwd, 'train.py'), JOB);
  return { XDG_STATE_HOME: join(cwd, 'state') };
}

/** A machine that offers neither mount namespaces nor Landlock refuses. There these tests ask for no protection. */
const protection = await findProtection({
  command: [python],
  env: process.env,
  bases: ['/tmp'],
  network: true,
});
const how = 'how' in protection ? protection.how : 'none';
const asked = how === 'none' ? ['--unprotected'] : [];

describeWithTorch('whyslow try', () => {
  it('measures what the findings of a first run ask for, survives a crash, and leaves the job’s files alone', () =>
    inFolder(async (cwd) => {
      const env = { ...(await prepare(cwd)), OMP_NUM_THREADS: '1' };
      const fixes = ['--only', 'fused-optimizer,loader-workers', '--rounds', '1'];
      const size = ['--steps', '8', '--warmup', '2', '--budget', '5min'];
      const words = ['try', ...asked, ...fixes, ...size, '--scratch', 'scratch', '--out', 'o', '--json'];
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
      if (how !== 'none')
        expect(filesIn(join(cwd, 'checkpoints'))).toEqual({ 'last.pt': 'precious', 'older.pt': 'precious' });
      expect(existsSync(join(cwd, 'o/run.json'))).toBe(true);
      expect(leftovers(join(cwd, 'scratch'))).toEqual([]);
      const whole = trySchema.parse(JSON.parse(readFileSync(join(cwd, 'o/try.json'), 'utf8')));
      if (trials[1]!.outcome === 'faster')
        expect(whole.paste).toEqual([expect.stringMatching(/^DataLoader\(\.\.\., num_workers=\d+, /)]);
      const notes = whole.notes.join();
      if (how === 'overlay')
        expect(notes).toMatch(/each turn wrote 1 file \(.*\) and deleted 1, .*checkpoints\/last\.pt/);
      else if (how === 'landlock')
        expect(notes).toMatch(/the job was not allowed to write .*checkpoints\/last\.pt/);
    }));

  it('says what is known after Ctrl-C, and ends the job', () =>
    inFolder(async (cwd) => {
      const env = await prepare(cwd);
      const words = ['try', ...asked, '--only', 'gc-frozen', ...FROM, '--out', 'o', '--scratch', 'scratch'];
      const job = [python, 'train.py', cwd];
      const program = [join(root, 'bin/whyslow.js'), ...words, '--steps', '5000', '--', ...job];
      const running = start(process.execPath, program, { cwd, env });
      await until(() => processesOf(cwd).length > 0, 'the job');
      running.child.kill('SIGINT');
      const { code, stdout } = await running.ended;
      expect(code).toBe(130);
      expect(stdout).toMatch(/gc-frozen .* not tried/);
      expect(leftovers(join(cwd, 'scratch'))).toEqual([]);
      expect(processesOf(cwd)).toEqual([]);
    }));

  it('says why nothing was measured', () =>
    inFolder(async (cwd) => {
      const env = await prepare(cwd);
      await writeFile(join(cwd, 'train.py'), 'raise ValueError("no data")\n');
      const words = ['try', ...asked, '--out', 'o', '--', python, 'train.py'];
      const ran = await whyslow(words, { cwd, env });
      expect(ran.code).toBe(3);
      expect(ran.stderr).toContain('nothing was measured: ValueError: no data');
      expect(readFileSync(join(cwd, 'o/first.log'), 'utf8')).toContain('Traceback');
    }));
});

/** Processes of the job, by an argument of their own. */
const processesOf = (mark: string) =>
  readdirSync('/proc').filter((pid) => {
    const command = commandOf(pid);
    return command[1] === 'train.py' && command[2] === mark;
  });

function commandOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // it is no process, or has ended
  }
}

const filesIn = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));

describe('whyslow try without a job', () => {
  it('lists its fixes', async () => {
    const { stdout, code } = await whyslow(['try', '--list']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/tf32 +fp32 matrix products in TF32/);
    expect(stdout).toContain('tried for: tf32-off');
  });

  it('shows what it would do, and starts nothing', () =>
    inFolder(async (cwd) => {
      await writeFile(join(cwd, 'train.py'), 'import requests\nrequests.post("http://x")  # uploads\n');
      const words = ['try', '--dry-run', '--unprotected', '--only', 'tf32', '--', 'python', 'train.py'];
      const { stderr, code } = await whyslow(words, { cwd });
      expect(code).toBe(0);
      expect(stderr).toContain('would try fixes on: python train.py');
      expect(stderr).toContain('fixes: tf32');
      expect(stderr).toContain('FILES ARE NOT PROTECTED (--unprotected)');
      expect(stderr).toContain('train.py:2 makes network requests: requests.post("http://x")');
      expect(readdirSync(cwd)).toEqual(['train.py']);
    }));

  it('refuses if nothing can protect the files', () =>
    inFolder(async (cwd) => {
      const { stderr, code } = await whyslow(['try', '--only', 'tf32', '--', './job'], {
        env: { PATH: cwd },
      });
      expect(code).toBe(2);
      expect(stderr).toContain(
        'this machine lets whyslow protect your files neither with a mount namespace nor with Landlock (no Python was found to start the job with)',
      );
    }));

  it.each([
    [['try'], 'which command?'],
    [['try', '--', 'docker', 'run', 'x'], 'docker runs the job where'],
    [['try', '--only', 'tf23', '--', 'true'], 'there is no fix "tf23"'],
    [['try', '--budget', 'soon', '--', 'true'], 'It must be a time such as 90s, 10min or 1h'],
    [['try', '--unprotected', '--from', 'nowhere', '--', 'true'], 'nowhere'],
    [['try', '--no-network', '--unprotected', '--', 'true'], '--no-network needs protection'],
    [['try', '--scratch', '/proc', '--only', 'tf32', '--', python], 'with --unprotected if the job may'],
  ])('%j is bad usage', async (words, reason) => {
    const { code, stderr } = await whyslow(words);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
  });
});
