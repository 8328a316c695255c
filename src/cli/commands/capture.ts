import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describeSystemError, InputError } from '../../base/input-error.js';
import { awaitAnswers, type Outcome, type Progress, silentRanks } from '../../launch/await-answers.js';
import { mayBeAlive, readRanks } from '../../launch/job.js';
import { type Answer, Conversation, type Plan } from '../../launch/on-demand.js';
import { asTyped } from '../../launch/out-directory.js';
import { renderJson } from '../../render/json.js';
import { ranksOrAll, whole } from '../common/arguments.js';
import { type CommandContext, EXIT } from '../common/context.js';
import { StatusLine } from '../common/status-line.js';

interface CaptureOptions {
  readonly steps: number;
  readonly ranks?: readonly number[] | 'all';
  readonly timeout: number;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ whyslow capture runs/a --steps 3
  $ whyslow capture runs/a --ranks 0,5 --timeout 1800 --json

The job must be measured (by whyslow run, or whyslow_capture in its loop); OUT
is its directory. All ranks record the same steps, a few after the present one.

Exit codes: 0 at least one trace was written; 2 none was, with the reason.`;

/** 128 + SIGINT, as shells have it. */
const INTERRUPTED = 130;

export function registerCapture(program: Command, context: CommandContext): void {
  program
    .command('capture')
    .description('asks a running job for a torch.profiler trace of its next steps')
    .argument('<out>', 'directory of the running job')
    .option('--steps <n>', 'steps to record', whole(1), 3)
    .option('--ranks <list>', 'ranks that record, e.g. 0,5 or all (default: as the job is set)', ranksOrAll)
    .option('--timeout <seconds>', 'how long to wait', whole(1), 600)
    .option('--json', 'print the answers as JSON')
    .addHelpText('after', EXAMPLES)
    .action((out: string, options: CaptureOptions) => capture(out, options, context));
}

async function capture(out: string, options: CaptureOptions, context: CommandContext): Promise<void> {
  await mustBeRunning(out);
  const { steps, ranks = null, timeout } = options;
  const request = { id: randomBytes(4).toString('hex'), steps, ranks, waitSeconds: timeout };
  const conversation = new Conversation(out, request);
  const status = new StatusLine(context.stderr);
  const interrupted = async () => {
    await conversation.withdraw();
    status.end();
    context.stderr.write('whyslow: the request is withdrawn\n');
    process.exit(INTERRUPTED);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    await conversation.ask().catch((error: unknown) => {
      throw new InputError(`cannot ask in ${join(out, 'control')}: ${describeSystemError(error)}`);
    });
    const outcome = await awaitAnswers(out, conversation, options.timeout, (progress, seconds) =>
      status.show(`${inWords(progress)} (${Math.round(seconds)} s)`),
    );
    status.end();
    // Before the answers go, or a rank would find a request without one.
    await conversation.withdraw();
    if (outcome.gaveUp === null) await conversation.end(outcome.expected);
    tell(outcome, request.id, options, context);
  } finally {
    status.end();
    await conversation.withdraw();
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }
}

async function mustBeRunning(out: string): Promise<void> {
  const ranks = await readRanks(out);
  if (ranks.length === 0) {
    const what = existsSync(out) ? 'has no ranks of a measured job' : 'does not exist';
    throw new InputError(
      `${out} ${what}. It must be the directory of a job that is being measured and has finished a step: ` +
        'the one that `whyslow run` prints, or that the job gives to whyslow_capture.capture()',
    );
  }
  if (!mayBeAlive(ranks, Date.now()))
    throw new InputError(
      `the job of ${out} is not running any more; \`whyslow diagnose ${out}\` reads what it left`,
    );
}

function inWords({ plan, answers, expected }: Progress): string {
  if (plan === null) return 'asked; the job answers at one of its next steps';
  const done = answers.length > 0 ? `, ${answers.length} of ${expected.length} done` : '';
  return `steps ${stepsOf(plan)} on ${ranksInWords(expected)}: recording, then compressing${done}`;
}

const stepsOf = ({ firstStep, steps }: Plan) =>
  steps === 1 ? `${firstStep}` : `${firstStep}–${firstStep + steps - 1}`;
const ranksInWords = (ranks: readonly number[]) =>
  `${ranks.length === 1 ? 'rank' : 'ranks'} ${ranks.slice(0, 8).join(', ')}${ranks.length > 8 ? ', …' : ''}`;

function tell(outcome: Outcome, id: string, options: CaptureOptions, context: CommandContext): void {
  const { plan, answers, gaveUp } = outcome;
  const traces = answers.flatMap((answer) => answer.path ?? []);
  const say = (text: string) => context.stderr.write(`whyslow: ${text}\n`);
  if (options.json) context.stdout.write(renderJson(asJson(outcome, id)));
  else for (const path of traces) context.stdout.write(`${asTyped(path)}\n`);
  for (const { rank, status, message } of answers)
    if (status !== 'done') say(`rank ${rank}: ${STATUS[status]}${message ? `: ${message}` : ''}`);
  if (gaveUp) {
    const who =
      plan === null ? 'the job made no plan' : `${ranksInWords(silentRanks(outcome))} did not answer`;
    say(`${gaveUp}: ${who}. The request is withdrawn`);
  }
  if (traces.length === 0) context.exitWith(EXIT.badInput);
}

const STATUS: Readonly<Record<Exclude<Answer['status'], 'done'>, string>> = {
  cut: 'the window was cut short',
  missed: 'not recorded',
  failed: 'no trace',
};

const asJson = (outcome: Outcome, id: string) => ({
  schema: 'whyslow/capture/1',
  id,
  first_step: outcome.plan?.firstStep ?? null,
  steps: outcome.plan?.steps ?? null,
  ranks: [
    ...outcome.answers.map(({ firstStep: first_step, lastStep: last_step, ...rest }) => ({
      ...rest,
      first_step,
      last_step,
    })),
    ...silentRanks(outcome).map((rank) => ({ rank, status: 'silent', path: null })),
  ].sort((a, b) => a.rank - b.rank),
  error: outcome.gaveUp,
});
