import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { InputError } from '../../base/input-error.js';
import { explainNothing, whatWasCaptured } from '../../launch/captured.js';
import { runChild } from '../../launch/child.js';
import { type CaptureOptions, jobEnvironment, pythonPart, settingsOf } from '../../launch/environment.js';
import { asTyped, defaultOut, prepareOut, releaseOut, timeLabel } from '../../launch/out-directory.js';
import { fileNameOf, launchIndex, newRunId, sharedRunId } from '../../launch/run-id.js';
import { startTelemetry } from '../../launch/telemetry.js';
import { renderJson } from '../../render/json.js';
import { ranksOrAll, share, whole } from '../common/arguments.js';
import type { CommandContext } from '../common/context.js';
import { diagnosed, forTerminal } from './diagnose.js';

interface RunOptions extends CaptureOptions {
  readonly out?: string;
  readonly runId?: string;
  readonly report?: string;
  readonly telemetry: boolean;
  readonly diagnose: boolean;
}

const EXAMPLES = `
Examples:
  $ whyslow run -- python train.py
  $ whyslow run --out runs/a --trace -- torchrun --nproc-per-node 8 train.py
  $ whyslow run --trace-period 500 --trace-ranks all -- accelerate launch t.py

On several nodes start it on each, with the same --out (a directory they share)
and the same --run-id where neither Slurm, MPI nor Ray gives one; the first node
prints the diagnosis. A process that the command starts is measured when it
inherits the environment. Every setting can also be given as WHYSLOW_… or in the
JSON file that WHYSLOW_CONFIG names; an option comes before both.

The exit code is that of the command: 128+N when signal N ended it, 127 not
found, 126 not executable. Until it has ended nothing of ours is written to the
standard output.`;

export function registerRun(program: Command, context: CommandContext): void {
  const command = program
    .command('run')
    .description('runs a training command with measurements on, no code change, then says why it is slow')
    .usage('[options] -- COMMAND…')
    .argument('<command...>', 'the training command: python, torchrun, accelerate launch, a script, …')
    .passThroughOptions()
    .option('--out <dir>', 'where measurements go (default: whyslow-runs/<time>-<script>)')
    .option('--run-id <id>', 'name of the run, the same on all nodes and after a restart')
    .option('--every <n>', 'record every n-th step (default: 10)', whole(1))
    .option('--start-step <n>', 'first step to record', whole(0))
    .option('--end-step <n>', 'last step to record', whole(0))
    .option('--max-overhead <share>', 'what measuring may cost, e.g. 0.5% or 0.005 (the default)', share)
    .option('--ranks <list>', 'measure these ranks only, e.g. 0,2-5 (default: all)', ranksOrAll)
    .option('--trace', 'also record a torch.profiler window: three steps on rank 0, up to step 20')
    .option('--trace-period <n>', 'one window every n steps; this and the following imply --trace', whole(1))
    .option('--trace-warmup <n>', 'profiler steps before a window that are thrown away', whole(0))
    .option('--trace-active <n>', 'steps in a window (default: 3)', whole(1))
    .option('--trace-ranks <list>', 'ranks that record windows, e.g. 0,8 or all (default: 0)', ranksOrAll)
    .option('--trace-target <names>', 'what the steps are of: train_overall, train_actor, …')
    .option('--trace-shapes', 'with shapes of inputs')
    .option('--trace-stack', 'with Python stacks')
    .option('--trace-memory', 'with allocations')
    .option('--trace-flops', 'with FLOPs')
    .option('--trace-budget-mb <n>', 'host memory and disk a window may take (default: 2048)', whole(1))
    .option('--no-telemetry', 'do not run nvidia-smi beside it')
    .option('--no-diagnose', 'only measure')
    .option('--report <file>', 'write the report as JSON as well')
    .addHelpText('after', EXAMPLES);
  command.action((words: string[], options: RunOptions) => run(words, options, context));
}

/** What is known of the run before it starts. */
interface Place {
  readonly id: string;
  readonly out: string;
  /** We made `out`. */
  readonly isNew: boolean;
  /** `out` as the user would type it. */
  readonly shown: string;
}

async function run(words: readonly string[], options: RunOptions, context: CommandContext): Promise<void> {
  if (!pythonPart().isThere)
    throw new InputError('this installation lacks its Python part; install it again');
  const say: Say = (text) => void context.stderr.write(`whyslow: ${text}\n`);
  const place = await choosePlace(words, options, say);
  const { out, id } = place;
  const env = jobEnvironment(process.env, { out, run: id, settings: settingsOf(options) });
  const telemetry = options.telemetry ? startTelemetry(out, process.env) : null;
  const ended = await runChild(words, env).finally(() => telemetry?.stop());

  context.exitWith(ended.code);
  // Whoever does not want to wait for the diagnosis still gets the command's exit code.
  const leave = () => process.exit(ended.code);
  process.once('SIGINT', leave).once('SIGTERM', leave);
  if (ended.failure) say(ended.failure);
  if (ended.signal) say(`the command was ended by ${ended.signal}`);
  // The first node speaks for all.
  if (!ended.failure && launchIndex(process.env, words) === 0) await conclude(place, options, context, say);
  await releaseOut({ path: out, isNew: place.isNew });
}

type Say = (text: string) => void;

async function choosePlace(words: readonly string[], options: RunOptions, say: Say): Promise<Place> {
  const shared = options.runId === undefined ? sharedRunId(process.env) : fileNameOf(options.runId);
  const id = shared ?? newRunId();
  const asked =
    options.out ?? (process.env.WHYSLOW_OUT || defaultOut(words, shared ?? timeLabel(new Date())));
  const { path: out, isNew, note } = await prepareOut(asked, id);
  const shown = asTyped(out);
  say(note ?? `measuring into ${shown}`);
  return { id, out, isNew, shown };
}

/** Says what was found. The command has ended and its exit code stands: nothing here can fail. */
async function conclude(
  { id, out, shown }: Place,
  options: RunOptions,
  context: CommandContext,
  say: Say,
): Promise<void> {
  const captured = await whatWasCaptured(out, id);
  if (!captured.hasRecords) return say(explainNothing(captured, shown));
  try {
    const report = options.diagnose || options.report ? await diagnosed([out], {}, context) : null;
    if (report && options.report) await writeFile(options.report, renderJson(report));
    if (report && options.diagnose) context.stdout.write(await forTerminal(report, {}, context));
  } catch (error) {
    say(`no diagnosis: ${error instanceof Error ? error.message : String(error)}`);
  }
  const ranks = captured.ranks === 1 ? '1 rank' : `${captured.ranks} ranks`;
  say(`${ranks} measured; whyslow diagnose ${shown} reads them again`);
}
