import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inFolder, type Ran, whyslow } from '../helpers/cli.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

/** What a first-time user stumbled over. */

const TRAIN = job('train.py');
const quoted = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path}'`);

const OWN_CAPTURE = `
import time, torch, whyslow_capture
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
with whyslow_capture.capture("own/dir") as capture:
    for _ in range(13):
        time.sleep(0.55)
        optimizer.zero_grad()
        model(torch.randn(8, 64)).sum().backward()
        optimizer.step()
        capture.step()
`;

/** One run shows many things: a script with a capture of its own, a few slow steps, a wrong variable, and LANG=C. */
const slowAndShort = () =>
  inFolder(async (cwd): Promise<Ran & { readonly made: boolean; readonly trace: boolean }> => {
    await writeFile(join(cwd, 'my train.py'), OWN_CAPTURE);
    const env = { WHYSLOW_EVERY: '5', LANG: 'C', LC_ALL: '' };
    const words = ['run', '--out', 'o', '--trace', '--report', 'r.json', '--', python, 'my train.py'];
    const ran = await whyslow(words, { cwd, env });
    const { inputs } = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8')) as {
      inputs: { kind: string }[];
    };
    const trace = inputs.some(({ kind }) => kind === 'kineto');
    return { ...ran, trace, made: existsSync(join(cwd, 'own')) };
  });

describeWithTorch('a first trial', () => {
  // Both at once: the first mostly sleeps.
  it.concurrent('a first trial works with slow steps, a capture in the script and a mistyped variable', async () => {
    const { code, stderr, trace, made } = await slowAndShort();
    expect(code).toBe(0);
    expect(stderr).toContain('whyslow: WHYSLOW_EVERY is not a setting and has no effect');
    expect(stderr).toMatch(/`whyslow run` measures into .*\/o, so capture\('own\/dir'\) writes there too/);
    expect(made).toBe(false);
    expect(trace).toBe(true);
    expect(stderr).toContain('Host-bound');
    expect(stderr).not.toContain('no-gpu-work');
    expect(stderr).not.toMatch(/[^\x00-\x7f]/);
  });

  it.concurrent('a first trial of very few steps has no window, and says so; the advice is the typed command', () =>
    inFolder(async (cwd) => {
      const ran = await whyslow(['run', '--out', 'o', '--trace', '--', python, TRAIN, '--steps', '3'], {
        cwd,
      });
      expect(ran.stderr).toMatch(
        /no trace was recorded: the job ended after 3 steps.*a window takes \d steps/,
      );
      const again = await whyslow(['diagnose', 'o'], { cwd, env: { COLUMNS: '400' } });
      expect(again.stdout).toContain(`whyslow run --trace -- ${quoted(python)} ${quoted(TRAIN)} --steps 3\n`);
      expect(again.stdout).not.toContain('torch.profiler');
    }));
});
