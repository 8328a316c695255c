import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Random } from '../../src/compare/step-times/random.js';
import { inFolder, program, root, start } from '../helpers/cli.js';
import { describeWithTorch, python } from '../helpers/python.js';

interface Step {
  readonly name: string;
  readonly run?: string;
  readonly uses?: string;
  readonly env?: Record<string, string>;
}
interface Action {
  readonly inputs: Record<string, { description: string; default?: string; required?: boolean }>;
  readonly outputs: Record<string, { value: string }>;
  readonly runs: { steps: Step[] };
}

/** Any YAML file as JSON. */
const yaml = (path: string): unknown =>
  JSON.parse(
    execFileSync(python, ['-c', 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'], {
      input: readFileSync(join(root, path)),
      encoding: 'utf8',
    }),
  );

/** What `whyslow run -- bash -c "MS SEED"` would record: noisy steps. All other commands are the real ones. */
const recorder = (log: string) => `#!/bin/sh
if [ "$1" = run ]; then
  mkdir -p "$3"; echo '{"whyslow": 1, "run": null}' > "$3/run.json"; cp "$WHYSLOW_TEST_LOG" "$3/events.jsonl"; echo "ran: $7" >> "${log}"
else
  exec "${process.execPath}" "${program()}" "$@"
fi
`;

const GH = `#!/bin/sh
echo "gh $*" >> "$RUNNER_TEMP/gh.txt"
case "$*" in *--jq*) test "$MARKER" = '<!-- whyslow: training -->' && cat "$RUNNER_TEMP/existing.txt" 2>/dev/null ;; esac
exit 0
`;

function steps(path: string, ms: number, seed: number): string {
  const random = new Random(seed);
  const lines = Array.from({ length: 80 }, (_, step) =>
    JSON.stringify({
      name: 'training_step',
      step,
      rank: 0,
      duration_ms: ms * Math.exp(0.03 * random.normal()),
      clock: 'host',
    }),
  );
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

describeWithTorch('action.yml', () => {
  const action = yaml('action.yml') as Action;
  const scripts = action.runs.steps.filter((step) => step.run !== undefined);
  const step = (name: string) => scripts.find((s) => s.name === name)!;

  /** Runs a step as GitHub does: `bash -eo pipefail`, expressions of inputs filled in. */
  const runStep = (folder: string, name: string, env: Record<string, string>) =>
    start('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step(name).run!], {
      cwd: folder,
      stdin: new Uint8Array(),
      env: {
        RUNNER_TEMP: folder,
        GITHUB_STEP_SUMMARY: join(folder, 'summary.md'),
        GITHUB_OUTPUT: join(folder, 'output.txt'),
        GITHUB_REPOSITORY: 'someone/job',
        PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
        ...env,
      },
    }).ended;

  function prepare(folder: string): void {
    mkdirSync(join(folder, 'whyslow/bin'), { recursive: true });
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'whyslow/bin/whyslow'), recorder(join(folder, 'ran.txt')));
    writeFileSync(join(folder, 'bin/gh'), GH);
    for (const file of ['whyslow/bin/whyslow', 'bin/gh']) chmodSync(join(folder, file), 0o755);
  }

  const compare = async (folder: string, ms: number, seed: number) => {
    writeFileSync(join(folder, 'output.txt'), '');
    const env = { COMMAND: 'python train.py', FAIL_OVER: '5%', NAME: 'training', RUNS: '1' };
    const log = steps(join(folder, `${seed}.jsonl`), ms, seed);
    execFileSync('rm', ['-rf', join(folder, 'whyslow-runs')]);
    const ran = await runStep(folder, 'Run and compare', { ...env, WHYSLOW_TEST_LOG: log });
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    return Object.fromEntries(
      readFileSync(join(folder, 'output.txt'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split('=')),
    ) as { code: string; report: string };
  };

  it('runs the command, compares with the history, comments, and fails only if it got slower', () =>
    inFolder(async (folder) => {
      prepare(folder);
      for (const [ms, seed] of [
        [100, 1],
        [101, 2],
        [100, 3],
      ] as const)
        expect(await compare(folder, ms, seed)).toMatchObject({ code: '0' });
      expect(readFileSync(join(folder, 'ran.txt'), 'utf8')).toContain('ran: python train.py');
      const { code, report } = await compare(folder, 120, 4);
      expect(code).toBe('1');
      expect(readFileSync(join(report, 'comment.md'), 'utf8')).toMatch(
        /^<!-- whyslow: training -->\n[\s\S]*\d+\.\d% slower/,
      );
      expect(readFileSync(join(folder, 'summary.md'), 'utf8')).toContain('slower');
      expect(existsSync(join(report, 'compare.html')) && existsSync(join(report, 'diagnosis.html'))).toBe(
        true,
      );
      expect((await runStep(folder, 'Fail if it got slower', { CODE: code })).code).toBe(1);
      expect((await runStep(folder, 'Fail if it got slower', { CODE: '0' })).code).toBe(0);
    }));

  it('keeps one comment up to date', () =>
    inFolder(async (folder) => {
      prepare(folder);
      const env = { MARKER: '<!-- whyslow: training -->', NUMBER: '7', REPORT: join(folder, 'r') };
      const comment = () => runStep(folder, 'Comment on the pull request', env);
      expect((await comment()).code).toBe(0);
      writeFileSync(join(folder, 'existing.txt'), '41\n42\n');
      expect((await comment()).code).toBe(0);
      const calls = readFileSync(join(folder, 'gh.txt'), 'utf8').split('\n');
      expect(calls[1]).toBe(
        `gh api --silent repos/someone/job/issues/7/comments --field body=@${folder}/r/comment.md`,
      );
      expect(calls[3]).toBe(
        `gh api --silent --method PATCH repos/someone/job/issues/comments/41 --field body=@${folder}/r/comment.md`,
      );
    }));

  it('uses only inputs and outputs that exist, and no input as code', () => {
    const text = readFileSync(join(root, 'action.yml'), 'utf8');
    for (const [, name] of text.matchAll(/inputs\.([\w-]+)/g))
      expect(Object.keys(action.inputs)).toContain(name);
    for (const [, name] of text.matchAll(/steps\.compare\.outputs\.(\w+)/g))
      expect(step('Run and compare').run).toMatch(new RegExp(`${name}=`));
    // An expression in a script is a way to inject code. In `env` it is only text.
    for (const { name, run } of scripts) expect(run, name).not.toContain('${{');
  });

  it('the workflow to copy passes inputs that the action has', () => {
    const workflow = yaml('examples/ci/training-speed.yml') as {
      jobs: { speed: { steps: { id?: string; with?: Record<string, unknown> }[] } };
    };
    const used = workflow.jobs.speed.steps.find((s) => s.id === 'whyslow')!;
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(used.with!)));
    const needed = Object.entries(action.inputs).filter(([, input]) => input.required === true);
    for (const [name] of needed) expect(used.with).toHaveProperty(name);
  });

  it.each(['.github/workflows/ci.yml', '.github/workflows/release.yml'])(
    '%s runs only scripts that exist',
    (path) => {
      const { scripts: known } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
        string,
        object
      >;
      const { jobs } = yaml(path) as { jobs: Record<string, { steps: { run?: string }[] }> };
      const runs = Object.values(jobs).flatMap(({ steps: all }) => all.flatMap(({ run }) => run ?? []));
      const used = runs.flatMap((run) =>
        [...run.matchAll(/npm (?:run )?(test|[\w:-]+)/g)].map(([, name]) => name),
      );
      expect(used.length).toBeGreaterThan(0);
      for (const name of used) expect(known).toHaveProperty([name!]);
    },
  );
});
