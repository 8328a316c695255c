import { Command } from 'commander';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { sampleReport } from '../../../test/helpers/sample-reports.js';
import { diagnose } from '../../library/diagnose.js';
import type { Report } from '../../report/report.js';
import { Output } from '../common/output.js';
import { registerDiagnose } from './diagnose.js';

vi.mock('../../library/diagnose.js', () => ({ diagnose: vi.fn() }));

const withBottleneck = (bottleneck: Report['verdict']['bottleneck']) =>
  sampleReport({ verdict: { ...sampleReport().verdict, bottleneck } });

async function run(...args: string[]) {
  const out = { stdout: '', stderr: '', code: 0 };
  const stream = (to: 'stdout' | 'stderr') =>
    new Output({ write: (text: string) => (out[to] += text) } as unknown as NodeJS.WriteStream, false);
  const program = new Command().exitOverride();
  registerDiagnose(program, {
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    exitWith: (code) => {
      out.code = code;
    },
    exitAsJob: () => {},
  });
  for (const sub of program.commands) sub.exitOverride().configureOutput({ writeErr: () => {} });
  await program.parseAsync(['diagnose', ...args], { from: 'user' });
  return out;
}

describe('whyslow diagnose', () => {
  beforeEach(() => {
    vi.mocked(diagnose).mockReset().mockResolvedValue(sampleReport());
  });

  it('passes its options on', async () => {
    await run('a', 'b', '--steps', '-6', '--ranks', '0,2-4', '--run', 'r', '--jobs', '2');
    expect(diagnose).toHaveBeenCalledWith(['a', 'b'], {
      steps: { first: null, last: 6 },
      ranks: [0, 2, 3, 4],
      run: 'r',
      jobs: 2,
      progress: expect.anything(),
    });
  });

  it('diagnose uses all steps and ranks by default', async () => {
    await run('a');
    expect(diagnose).toHaveBeenCalledWith(['a'], {
      steps: null,
      ranks: null,
      run: null,
      progress: expect.anything(),
    });
  });

  it('prints the page, or the same report as JSON', async () => {
    expect((await run('a')).stdout).toContain('Data-bound: the GPU spends 92%');
    expect(JSON.parse((await run('a', '--json')).stdout)).toEqual(sampleReport());
  });

  it.each([
    ['data', [], 0],
    ['data', ['--fail-on', 'comms,host'], 0],
    ['data', ['--fail-on', 'comms,data'], 1],
    ['unknown', [], 3],
    ['unknown', ['--fail-on', 'data'], 3],
    ['unknown', ['--fail-on', 'unknown'], 1],
  ] as const)('%s with %j exits %i', async (bottleneck, args, code) => {
    vi.mocked(diagnose).mockResolvedValue(withBottleneck(bottleneck));
    const ran = await run('a', ...args);
    expect(ran.code).toBe(code);
    expect(ran.stderr.includes('--fail-on')).toBe(code === 1);
    expect(ran.stdout).not.toBe('');
  });

  it.each([
    ['--steps', '6-3'],
    ['--ranks', 'all'],
    ['--fail-on', 'disk'],
    ['--jobs', '0'],
  ])('refuses %s %s', async (...args) => {
    await expect(run('a', ...args)).rejects.toThrow(`argument '${args[1]}' is invalid`);
    expect(diagnose).not.toHaveBeenCalled();
  });
});
