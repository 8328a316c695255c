import fs from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Command, Option } from 'commander';
import { describeSystemError, InputError } from '../../base/input-error.js';
import { makeFolders } from '../../base/make-folders.js';
import { quoted } from '../../base/printable.js';
import { namedRanks } from '../../base/rank-ranges.js';
import { formatCount, formatDuration, formatPercent, seconds, share } from '../../base/units.js';
import { explainNothing, whatWasCaptured } from '../../launch/captured.js';
import { runChild } from '../../launch/child.js';
import { type CaptureOptions, jobEnvironment, pythonPart, settingsOf } from '../../launch/environment.js';
import { readRanks } from '../../launch/job.js';
import { asTyped, defaultOut, prepareOut, releaseOut, timeLabel } from '../../launch/out-directory.js';
import { fileNameOf, isRunOf, launchIndex, newRunId, sharedRunId } from '../../launch/run-id.js';
import { watchForStuck } from '../../launch/stuck.js';
import { processTelemetry, startTelemetry } from '../../launch/telemetry.js';
import { unknownVariables } from '../../launch/unknown-variables.js';
import { watchForUnmeasured } from '../../launch/unmeasured.js';
import { whoFailed } from '../../launch/who-failed.js';
import { type WindowCost, watchForLateRanks, windowCost } from '../../launch/window-cost.js';
import type { ReportRun } from '../../library/vocabulary.js';
import { renderJson } from '../../render/json.js';
import type { LivePage } from '../../server/live-page.js';
import { duration, percentage, ranksOrAll, wholeNumber } from '../common/arguments.js';
import { type Joined, joinNodes } from '../common/nodes.js';
import { type CommandContext, say } from '../common/output.js';
import { showInBrowser } from '../common/show-in-browser.js';
import { WatchChild } from '../watch/watch-child.js';
import { addWatchFlags, type WatchFlags } from '../watch/watch-flags.js';
import { diagnosed, forTerminal } from './diagnose.js';

interface RunOptions extends CaptureOptions, WatchFlags {
  /** Undefined: from ten minutes on. */
  readonly watch?: boolean;
  readonly out?: string;
  readonly runId?: string;
  readonly report?: string;
  readonly share?: boolean;
  readonly telemetry: boolean;
  readonly diagnose: boolean;
  readonly stdout?: true;
  readonly open?: true;
  readonly port?: number;
  /** For other nodes, in seconds. */
  readonly wait?: number;
}

const EXAMPLES = `
Examples:
  $ whyslow run -- python train.py
  $ whyslow run --out runs/a -- torchrun --nproc-per-node 8 train.py
  $ whyslow run --trace-period 500 --trace-ranks all -- accelerate launch t.py

On several nodes, start it on each, with the same --run-id (Slurm, MPI and Ray
provide one) and a shared --out. The node of rank 0 prints one diagnosis of all
ranks. Without a shared directory, each other node prints the command that
copies its small facts files to the first one.

All processes that inherit the environment are measured. Settings can also come
from WHYSLOW_… variables or from the JSON file named by WHYSLOW_CONFIG; options
take precedence.

The exit code is the command's: 128+N if signal N ended it, 127 not found, 126
not executable. The diagnosis goes to standard error, so that standard output
holds only what the command prints.`;

export function registerRun(program: Command, context: CommandContext): void {
  const command = program
    .command('run')
    .description('run a training command, measure it, then diagnose it')
    .usage('[options] -- COMMAND…')
    .argument('<command...>', 'the training command: python, torchrun, accelerate launch, a script, …')
    .passThroughOptions()
    .option('--out <dir>', 'directory for measurements (default: whyslow-runs/<time>-<script>)')
    .option('--run-id <id>', 'name of the run, the same on all nodes and after a restart')
    .option('--every <n>', 'record every n-th step (default: 10)', wholeNumber(1))
    .option('--start-step <n>', 'first step to record', wholeNumber(0))
    .option('--end-step <n>', 'last step to record', wholeNumber(0))
    .option('--max-overhead <share>', 'limit for the cost of measuring (default: 0.5%)', percentage)
    .option('--ranks <list>', 'measure only these ranks, e.g. 0,2-5 (default: all)', ranksOrAll)
    .option('--trace', 'record a torch.profiler window: steps 21 to 26 of rank 0 (default)')
    .option('--no-trace', 'record no window')
    .option('--trace-period <n>', 'one window every n steps', wholeNumber(1))
    .option('--trace-warmup <n>', 'profiler steps to discard before each window', wholeNumber(0))
    .option('--trace-active <n>', 'steps in a window (default: 6, with --trace-period 3)', wholeNumber(1))
    .option('--trace-ranks <list>', 'ranks that record windows, e.g. 0,8 or all (default: 0)', ranksOrAll)
    .option('--trace-target <names>', 'which loop to trace: train_overall, train_actor, …')
    .option('--shapes', 'record input shapes in the window, to compare kernels with the hardware')
    .addOption(new Option('--trace-shapes').hideHelp())
    .option('--trace-memory', 'record allocations')
    .option('--trace-flops', 'record FLOPs')
    .option('--trace-budget-mb <n>', 'host memory and disk per window (default: 2048)', wholeNumber(1))
    .option('--share', 'let your group read the measurements (default: only you; also WHYSLOW_SHARE=1)')
    .option('--memory', 'record what holds GPU memory, with stacks')
    .option('--no-telemetry', 'do not record nvidia-smi and /proc')
    .option('--no-diagnose', 'only measure, print no diagnosis')
    .option('--stdout', 'print the diagnosis to standard output instead of standard error')
    .option('--report <file>', 'also write the report as JSON')
    .option('--wait <time>', 'wait for other nodes at the end, e.g. 30s or 5min (default: 60s)', duration)
    .option('--watch', 'report when, where and why the job gets slower, while it runs')
    .option('--open', 'show the diagnosis so far in the browser while the job runs')
    .option('--port <n>', 'with --open: listen on this port (default: a free one)', wholeNumber(1, 65_535))
    .addHelpText('after', EXAMPLES);
  addWatchFlags(command);
  command.action((words: string[], options: RunOptions) => run(words, options, context));
}

/** Nodes of a job end within seconds of each other, and facts of most ranks are made in less. */
const WAIT_S = 60;

/** Where the measurements of this run go. */
interface Destination {
  readonly id: string;
  readonly out: string;
  /** This program created `out`. */
  readonly isNew: boolean;
  /** `out` as the user would type it. */
  readonly shown: string;
}

async function run(words: readonly string[], options: RunOptions, context: CommandContext): Promise<void> {
  if (!pythonPart().isThere)
    throw new InputError('the Python part of this installation is missing; install whyslow again');
  if (options.report !== undefined) await checkReportFile(options.report);
  // What this program starts follows it, too.
  if (options.share) process.env.WHYSLOW_SHARE = '1';
  for (const message of unknownVariables(process.env)) say(context, message);
  const destination = await chooseDestination(words, options, context);
  const { out, id, isNew } = destination;
  const launch = newRunId();
  const settings = settingsOf(options);
  const env = jobEnvironment(process.env, { out, run: id, launch, command: words, settings });
  const telemetry = options.telemetry ? startTelemetry(out, process.env) : null;
  const processes = options.telemetry ? processTelemetry(out) : null;
  const unmeasured = watchForUnmeasured(pythonPart().startUp, (message) => say(context, message));
  const late = asksForLateRanks(words, options)
    ? watchForLateRanks(
        out,
        () => lateRanksIn(out),
        (ranks) => say(context, `${namedRanks(ranks)}: late, so a profiler window was requested there too`),
      )
    : null;
  const stuck = watchForStuck(out, process.env, (found) => sayStuck(found, context));
  const page =
    options.open && launchIndex(process.env, words) === 0 ? await openPage(out, options, context) : null;
  const watch = watchOf(out, words, options, context);
  const ended = await runChild(words, env, processes?.watch).finally(() => {
    unmeasured.stop();
    late?.stop();
    stuck.stop();
    return Promise.all([telemetry?.stop(), processes?.stop()]);
  });

  context.exitAsJob(ended.code);
  // Ctrl-C during the diagnosis still ends with the command's exit code.
  const leave = () => process.exit(ended.code);
  process.once('SIGINT', leave).once('SIGTERM', leave);
  if (ended.failure) say(context, ended.failure);
  if (ended.signal) say(context, `the command was ended by ${ended.signal}`);
  // Only the first node prints the diagnosis.
  const others = ended.failure
    ? null
    : await joinNodes({ out, launch, ended, waitS: options.wait ?? WAIT_S }, context);
  await watch?.jobEnded();
  const finished = page?.jobEnded();
  const isFirst = others?.isFirst ?? launchIndex(process.env, words) === 0;
  const hasRecords =
    !ended.failure && isFirst && (await conclude(destination, ended.code, options, others, context));
  await releaseOut({ path: out, isNew });
  if (page && hasRecords) await keepPage(page, destination, context);
  page?.close();
  await finished;
}

async function sayStuck(folder: string, context: CommandContext): Promise<void> {
  const { diagnose } = await import('../../library/diagnose.js');
  const { verdict } = await diagnose([folder], {});
  say(context, `no step has ended for a long time. ${verdict.sentence}`, verdict.next);
}

/** Null: there is none, and the job runs without. */
async function openPage(
  out: string,
  { port = 0, price }: RunOptions,
  context: CommandContext,
): Promise<LivePage | null> {
  const { LivePage } = await import('../../server/live-page.js');
  const page = await LivePage.start(out, port, price);
  if (typeof page === 'string') {
    say(context, `no page: ${page}`);
    return null;
  }
  say(context, `the page of this run: ${page.url}`);
  if (context.stderr.isTTY) showInBrowser(page.url);
  return page;
}

/** On a terminal the page stays until Ctrl-C. Elsewhere nobody could end it: a script would wait forever. */
async function keepPage(page: LivePage, { shown }: Destination, context: CommandContext): Promise<void> {
  if (context.stderr.isTTY) {
    say(context, `the page stays at ${page.url} until Ctrl-C`);
    await page.gone();
  } else say(context, `the page ends with the job; to see it again: whyslow open ${quoted(shown)}`);
}

/** Only the first node watches: it sees all ranks in OUT. */
function watchOf(
  out: string,
  words: readonly string[],
  options: RunOptions,
  context: CommandContext,
): WatchChild | null {
  const asked = options.watch || isAsked(options);
  if (!asked || launchIndex(process.env, words) !== 0) return null;
  return new WatchChild(out, options, options.maxOverhead, (line) => say(context, line));
}

const isAsked = ({ metrics, notify, onIncident }: WatchFlags) =>
  metrics !== undefined || notify !== undefined || onIncident !== undefined;

/** Only the first node looks, and only if the user has not chosen the ranks to trace, or none. */
const asksForLateRanks = (words: readonly string[], options: RunOptions): boolean =>
  options.trace !== false && options.traceRanks === undefined && launchIndex(process.env, words) === 0;

async function lateRanksIn(out: string): Promise<readonly number[]> {
  if ((await readRanks(out)).length < 2) return [];
  const { diagnose } = await import('../../library/diagnose.js');
  const { stragglers } = await diagnose([out], {});
  return stragglers.filter((s) => s.pattern === 'persistent').flatMap((s) => s.ranks);
}

async function chooseDestination(
  words: readonly string[],
  options: RunOptions,
  context: CommandContext,
): Promise<Destination> {
  const sharedId = options.runId === undefined ? sharedRunId(process.env) : fileNameOf(options.runId);
  const id = sharedId ?? newRunId();
  const byDefault = process.env.WHYSLOW_OUT || defaultOut(words, sharedId ?? timeLabel(new Date()));
  const { path: out, isNew, note } = await prepareOut(options.out ?? byDefault, id);
  const shown = asTyped(out);
  say(context, note ?? `measuring into ${shown}`);
  return { id, out, isNew, shown };
}

/** Before the job starts: afterwards nobody could repeat the run just for the report. */
async function checkReportFile(path: string): Promise<void> {
  try {
    makeFolders(dirname(path), fs);
    await (await open(path, 'a')).close();
  } catch (error) {
    throw new InputError(`cannot write ${path}: ${describeSystemError(error)}`);
  }
}

/** Prints the diagnosis; false: nothing was measured. The command has ended and its exit code stands, so a failure here is only a message. */
async function conclude(
  { id, out, shown }: Destination,
  status: number,
  options: RunOptions,
  others: Joined | null,
  context: CommandContext,
): Promise<boolean> {
  const captured = await whatWasCaptured(out, id);
  if (!captured.hasRecords) {
    const [what, ...reasons] = explainNothing(captured, shown, status);
    say(context, what!, reasons);
    return false;
  }
  const failure = status === 0 ? null : await whoFailed(out, id).catch(() => null);
  if (failure) say(context, failure);
  try {
    if (options.diagnose || options.report) await report(out, id, options, others, context);
  } catch (error) {
    say(context, `no diagnosis: ${describeSystemError(error)}`);
  }
  const ranks = formatCount(captured.ranks, 'rank');
  say(context, `measured ${ranks}; to see the diagnosis again: whyslow diagnose ${quoted(shown)}`);
  return true;
}

/** A script may have started several trainings. Each gets its own diagnosis; the file gets the newest. */
async function report(
  out: string,
  id: string,
  options: RunOptions,
  others: Joined | null,
  context: CommandContext,
): Promise<void> {
  const from = others ? { factsOf: others.factsOf } : {};
  const priced = options.price === undefined ? {} : { price: options.price };
  const newest = await diagnosed([out], { ...from, ...priced }, context);
  if (options.report) await writeFile(options.report, renderJson(newest));
  if (!options.diagnose) return;
  const target = options.stdout ? context.stdout : context.stderr;
  const earlier = newest.runs.filter((run) => !run.analyzed && isRunOf(run.id, id));
  for (const run of earlier) {
    const one = await diagnosed([out], { ...from, ...priced, run: run.id }, context);
    target.line(headline(run));
    target.write(`${await forTerminal(one, {}, context, target)}\n`);
  }
  const last = newest.runs.find((run) => run.analyzed);
  if (earlier.length > 0 && last) target.line(headline(last));
  target.write(await forTerminal(newest, {}, context, target));
  const cost = await windowCost(out, newest.step);
  if (cost) sayCost(cost, options.maxOverhead ?? DEFAULT_OVERHEAD, context);
}

/** As capture has it (config.py). */
const DEFAULT_OVERHEAD = 0.005;

/** Only if it is above the limit: a window in a short run. */
function sayCost({ spent, of }: WindowCost, limit: number, context: CommandContext): void {
  if (spent <= limit * of) return;
  const [part, most] = [formatPercent(share(spent / of)), formatPercent(share(limit))];
  const enough = formatDuration(seconds(spent / limit));
  say(
    context,
    `the profiler window took ${part} of the time since the first step; after ${enough} of training it is below ${most} (--no-trace: none)`,
  );
}

const headline = ({ id, command }: ReportRun) => `Run ${id}${command ? `: ${command}` : ''}`;
