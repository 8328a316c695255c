import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describeSystemError, InputError } from '../../base/input-error.js';
import { namedRanks } from '../../base/rank-ranges.js';
import { mayBeAlive, readRanks } from '../../launch/job.js';
import {
  type Answer,
  awaitAnswers,
  Conversation,
  type Outcome,
  type Plan,
  type Progress,
  silentRanks,
} from '../../launch/on-demand.js';
import { asTyped } from '../../launch/out-directory.js';
import { renderJson } from '../../render/json.js';
import { ranksOrAll, wholeNumber } from '../common/arguments.js';
import { type CommandContext, EXIT, say } from '../common/output.js';
import { StatusLine } from '../common/progress.js';

interface CaptureFlags {
  readonly steps: number;
  readonly ranks?: readonly number[] | 'all';
  readonly timeout: number;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ whyslow capture runs/a --steps 3
  $ whyslow capture runs/a --ranks 0,5 --timeout 1800 --json

The job must be measured already, by whyslow run or by whyslow_capture in its
loop. OUT is its directory. All ranks record the same steps, starting a few
steps from now.

Exit codes: 0 at least one trace was written; 2 none, with the reason.`;

/** 128 + SIGINT, as in shells. */
const INTERRUPTED = 130;

export function registerCapture(program: Command, context: CommandContext): void {
  program
    .command('capture')
    .description('record a profiler trace of the next steps of a running job')
    .argument('<out>', 'directory of the running job')
    .option('--steps <n>', 'steps to record', wholeNumber(1), 3)
    .option('--ranks <list>', 'ranks that record, e.g. 0,5 or all (default: the job’s)', ranksOrAll)
    .option('--timeout <seconds>', 'how long to wait for the traces', wholeNumber(1), 600)
    .option('--json', 'print the answers as JSON')
    .addHelpText('after', EXAMPLES)
    .action((out: string, options: CaptureFlags) => capture(out, options, context));
}

async function capture(out: string, options: CaptureFlags, context: CommandContext): Promise<void> {
  await mustBeRunning(out);
  const { steps, ranks = null, timeout } = options;
  const request = { id: randomBytes(4).toString('hex'), steps, ranks, waitSeconds: timeout };
  const conversation = new Conversation(out, request);
  const status = new StatusLine(context.stderr);
  const interrupted = async () => {
    await conversation.withdraw();
    status.end();
    say(context, 'request withdrawn');
    process.exit(INTERRUPTED);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    await conversation.ask().catch((error: unknown) => {
      throw new InputError(`cannot write to ${join(out, 'control')}: ${describeSystemError(error)}`);
    });
    const outcome = await awaitAnswers(out, conversation, options.timeout, (progress, seconds) =>
      status.show(`${statusText(progress)} (${Math.round(seconds)} s)`),
    );
    status.end();
    // The request goes before the answers: a rank must not find a request that looks unanswered.
    await conversation.withdraw();
    if (outcome.gaveUp === null) await conversation.end(outcome.expected);
    print(outcome, request.id, options, context);
  } finally {
    status.end();
    await conversation.withdraw();
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }
}

async function mustBeRunning(out: string): Promise<void> {
  const ranks = await readRanks(out);
  if (ranks.length === 0) {
    const what = existsSync(out) ? 'is not the directory of a measured job' : 'does not exist';
    throw new InputError(
      `${out} ${what}. Pass the directory that \`whyslow run\` prints, or that the job passes to ` +
        'whyslow_capture.capture(). The job must have finished a step',
    );
  }
  if (!mayBeAlive(ranks, Date.now()))
    throw new InputError(`the job of ${out} has ended; to diagnose it: whyslow diagnose ${out}`);
}

function statusText({ plan, answers, expected }: Progress): string {
  if (plan === null) return 'request sent; the job answers at one of its next steps';
  const done = answers.length > 0 ? `, ${answers.length} of ${expected.length} done` : '';
  return `steps ${stepsOf(plan)} on ${namedRanks(expected)}: recording, then compressing${done}`;
}

const stepsOf = ({ firstStep, steps }: Plan) =>
  steps === 1 ? `${firstStep}` : `${firstStep}–${firstStep + steps - 1}`;

function print(outcome: Outcome, id: string, options: CaptureFlags, context: CommandContext): void {
  const { plan, answers, gaveUp } = outcome;
  const traces = answers.flatMap((answer) => answer.path ?? []);
  if (options.json) context.stdout.writeJson(renderJson(asJson(outcome, id)));
  else for (const path of traces) context.stdout.line(asTyped(path));
  for (const { rank, status, message } of answers)
    if (status !== 'done') say(context, `rank ${rank}: ${STATUS[status]}${message ? `: ${message}` : ''}`);
  if (gaveUp) {
    const silent = `${namedRanks(silentRanks(outcome))} did not answer`;
    const reason = plan === null ? 'the job did not schedule the trace' : silent;
    say(context, `${gaveUp}: ${reason}. The request is withdrawn`);
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
    ...outcome.answers.map((a) => {
      const { firstStep, lastStep, ...rest } = a;
      return { ...rest, first_step: firstStep, last_step: lastStep };
    }),
    ...silentRanks(outcome).map((rank) => ({ rank, status: 'silent', path: null })),
  ].sort((a, b) => a.rank - b.rank),
  error: outcome.gaveUp,
});
