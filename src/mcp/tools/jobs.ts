import { resolve } from 'node:path';
import * as z from 'zod';
import { InputError } from '../../base/input-error.js';
import { defaultOut, timeLabel } from '../../launch/out-directory.js';
import { type Ended, runWhyslow } from '../kit/child.js';
import { type Answer, type Call, tool } from '../kit/tool.js';
import { diagnosed } from './diagnose.js';

const JOB = {
  command: z
    .array(z.string().max(8192))
    .min(1)
    .max(1000)
    .describe('the training command, a word each: ["python", "train.py"]'),
  cwd: z.string().max(4096).optional().describe('folder to run it in (default: the server’s)'),
};

/** The folder of the job, which must be one that may be read. */
const folderOf = (cwd: string | undefined, { roots }: Call): Promise<string> =>
  roots.allowed(cwd ?? roots.folders?.[0] ?? '.');

export const runTool = tool({
  name: 'run',
  title: 'Measure a training command',
  description:
    'Runs a training command, measures it, and diagnoses it: as `whyslow run`. Takes as long as the command. The command runs with the rights of the user. Reports progress; canceling ends the command.',
  input: {
    ...JOB,
    out: z.string().max(4096).optional().describe('folder for the measurements'),
    trace: z.boolean().default(true).describe('also record a profiler window'),
  },
  runs: true,
  call: async ({ command, cwd, out, trace }, call) => {
    const folder = await folderOf(cwd, call);
    const asked = resolve(folder, out ?? defaultOut(command, timeLabel(new Date())));
    const into = out === undefined ? asked : await call.roots.allowed(asked);
    const flags = ['--no-diagnose', ...(trace ? [] : ['--no-trace'])];
    const words = ['run', '--out', into, ...flags, '--', ...command];
    const ended = await runWhyslow(words, { cwd: folder, signal: call.signal, say: call.say });
    const answer = await diagnosed([measuredInto(ended, into)], {}, call).catch((error: unknown) => {
      throw error instanceof InputError
        ? new InputError(error.message, [...error.more, lastOf(ended)])
        : error;
    });
    const status = ended.code === 0 ? '' : `The command ended with exit code ${ended.code}.\n`;
    return {
      text: `${status}${answer.text}\nmeasurements: ${into}`,
      report: { exit_code: ended.code, measurements: into, ...answer.report },
    };
  },
});

/** Where it went, if another run had the folder. */
function measuredInto({ stderr }: Ended, asked: string): string {
  const beside = /so this run is measured into (.+)$/m.exec(stderr)?.[1];
  return beside === undefined ? asked : beside;
}

const TAIL = 12;
const lastOf = ({ stderr }: Ended): string => stderr.trimEnd().split('\n').slice(-TAIL).join('\n');

export const tryTool = tool({
  name: 'try',
  title: 'Prove fixes on the job',
  description:
    'Applies fixes to a training command from outside and measures the gain of each: as `whyslow try`. The user’s files stay as they are. Takes minutes (`budget_s`). Use it before telling anybody that a fix helps.',
  input: {
    ...JOB,
    only: z.array(z.string().max(100)).max(50).optional().describe('only these fixes'),
    from: z.string().max(4096).optional().describe('take the findings from this run'),
    budget_s: z.int().min(10).max(86_400).default(600),
  },
  runs: true,
  call: async ({ command, cwd, only, from, budget_s }, call) => {
    const flags = [
      ...(only ? ['--only', only.join(',')] : []),
      ...(from === undefined ? [] : ['--from', resolve(await call.roots.allowed(from))]),
      ...['--budget', `${budget_s}s`],
    ];
    return asJson(['try', '--json', ...flags, '--', ...command], await folderOf(cwd, call), call);
  },
});

export const captureTool = tool({
  name: 'capture',
  title: 'Trace a running job',
  description:
    'Records a profiler trace of the next steps of a job that `whyslow run` measures: as `whyslow capture`. `diagnose` reads it afterwards from the same folder.',
  input: {
    out: z.string().min(1).max(4096).describe('folder of the running job'),
    steps: z.int().min(1).max(1000).default(3),
    timeout_s: z.int().min(1).max(86_400).default(600),
  },
  runs: true,
  call: async ({ out, steps, timeout_s }, call) => {
    const folder = resolve(await call.roots.allowed(out));
    const flags = ['--steps', String(steps), '--timeout', String(timeout_s)];
    return asJson(['capture', folder, '--json', ...flags], undefined, call);
  },
});

/** A command that prints its report. Its messages are the error if there is none. */
async function asJson(words: readonly string[], cwd: string | undefined, call: Call): Promise<Answer> {
  const ended = await runWhyslow(words, { cwd, signal: call.signal, say: call.say });
  try {
    const report: unknown = JSON.parse(ended.stdout);
    if (typeof report === 'object' && report !== null) return { text: lastOf(ended), report };
  } catch {
    // its messages are the error
  }
  throw new InputError(lastOf(ended) || `whyslow ${words[0]} ended with exit code ${ended.code}`);
}
