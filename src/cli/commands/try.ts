import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { describeSystemError, InputError } from '../../base/input-error.js';
import { ownModes } from '../../base/make-folders.js';
import { quoted } from '../../base/printable.js';
import { formatDuration, seconds } from '../../base/units.js';
import { pythonPart } from '../../launch/environment.js';
import { asTyped, defaultOut, prepareOut, releaseOut, timeLabel } from '../../launch/out-directory.js';
import { newRunId } from '../../launch/run-id.js';
import { toolInfo } from '../../library/vocabulary.js';
import { TRIALS } from '../../remedies/remedies.js';
import { renderJson } from '../../render/json.js';
import { appendPairs, historyFile, pairsOf, readPairs, trackRecord } from '../../trial/history.js';
import { type Foretold, type PlannedFix, precautions, reachesOf } from '../../trial/plan.js';
import { findProtection, type Protection, unprotected } from '../../trial/protect/protection.js';
import { removeTree } from '../../trial/protect/written.js';
import type { TurnEnd, TurnSettings } from '../../trial/run-turn.js';
import type { TryReport } from '../../trial/trials.js';
import { duration, nameList, wholeNumber } from '../common/arguments.js';
import { type CommandContext, EXIT, say } from '../common/output.js';
import { StatusLine } from '../common/progress.js';

interface TryFlags {
  readonly only?: readonly string[];
  readonly all?: boolean;
  readonly from?: string;
  readonly steps: number;
  readonly warmup: number;
  readonly rounds: number;
  readonly budget: number;
  readonly limit?: number;
  readonly out?: string;
  readonly scratch?: string;
  readonly patch?: string;
  readonly network: boolean;
  readonly unprotected?: boolean;
  readonly list?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ whyslow try -- python train.py
  $ whyslow try --only tf32,compile -- torchrun --nproc-per-node 8 train.py
  $ whyslow try --from runs/mine --dry-run -- python train.py
  $ whyslow try --patch fix.diff -- python train.py && git apply fix.diff
  $ whyslow try --list

Runs the command for a few dozen steps at a time: first to find what is slow,
then in turns without a fix and with one fix, finally with all that helped.
Numbers of workers, batches and threads are searched: first what the findings
advise, then twice or half as many, as long as that helps. Fixes are applied
from outside, and your code is not changed. The kernel protects your files: what
the job writes goes to a scratch folder. Trackers are offline. Each turn starts
the command again, so its start-up counts against the budget.

Exit codes: 0 done; 2 bad usage; 3 nothing could be measured; 130 interrupted.`;

export function registerTry(program: Command, context: CommandContext): void {
  program
    .command('try')
    .description('apply fixes to a training command and measure the gains')
    .usage('[options] -- COMMAND…')
    .argument('[command...]', 'the training command: python, torchrun, accelerate launch, a script, …')
    .passThroughOptions()
    .option('--only <fixes>', 'try only these, e.g. tf32,compile', nameList)
    .option('--all', 'try every fix, not only those that the findings ask for')
    .option('--from <path>', 'take the findings from this run instead of a first run')
    .option('--steps <n>', 'steps to measure in each turn', wholeNumber(5, 100_000), 40)
    .option('--warmup <n>', 'steps before them that are not measured', wholeNumber(1, 100_000), 10)
    .option('--rounds <n>', 'most turns of each fix', wholeNumber(1, 100), 3)
    .addOption(
      new Option('--budget <time>', 'time for all turns, e.g. 90s, 10min, 1h')
        .argParser(duration)
        .default(600, '10min'),
    )
    .option(
      '--limit <time>',
      'end a turn that takes longer (default: about three times the first run)',
      duration,
    )
    .option('--out <dir>', 'directory for try.json (default: whyslow-runs/<time>-try-<script>)')
    .option('--patch <file>', 'write the fixes that helped as a patch of your files, for git apply')
    .option('--scratch <dir>', 'where the job’s writes go during trials (default: the temporary folder)')
    .option('--no-network', 'let the job reach this machine only')
    .option('--unprotected', 'let the job change and delete files, if nothing can protect them')
    .option('--list', 'show all fixes')
    .option('--dry-run', 'show what would be done')
    .option('--json', 'print the trials as JSON')
    .addHelpText('after', EXAMPLES)
    .action((words: string[], options: TryFlags) => runTry(words, options, context));
}

async function runTry(words: readonly string[], options: TryFlags, context: CommandContext): Promise<void> {
  if (options.list) return list(context);
  if (words.length === 0) throw new InputError('which command? whyslow try -- python train.py');
  refuseElsewhere(words);
  if (!pythonPart().isThere)
    throw new InputError('the Python part of this installation is missing; install whyslow again');
  const { planFixes } = await import('../../trial/plan.js');
  if (options.patch !== undefined) await refuseToOverwrite(options.patch);
  const findings = options.from === undefined ? null : await findingsOf(options.from);
  // Names are checked before anything starts.
  const known = findings || options.only ? planFixes(findings ?? [], options) : null;
  const protection = await protect(words, options);
  await announce(words, options, known, protection, context);
  if (options.dryRun) return;
  await new Tries(words, options, protection, context).run(findings);
}

/** A patch of an earlier trial may be replaced, and nothing else. */
async function refuseToOverwrite(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new InputError(`cannot write ${path}: ${describeSystemError(error)}`);
  });
  if (text !== '' && !text.startsWith('--- a/'))
    throw new InputError(`${path} exists and is no patch; choose another name for --patch`);
}

/** There a trial could neither measure the job nor keep its files safe. */
const ELSEWHERE = ['docker', 'podman', 'ssh', 'kubectl', 'sbatch', 'ray', 'modal', 'sky'];

function refuseElsewhere(words: readonly string[]): void {
  const program = basename(words[0]!);
  if (ELSEWHERE.includes(program))
    throw new InputError(
      `${program} runs the job where a trial cannot keep its files safe. Start whyslow try there instead`,
    );
}

async function protect(command: readonly string[], options: TryFlags): Promise<Protection> {
  const { scratch, network } = options;
  const bases = scratch === undefined ? [tmpdir(), ...OTHER_BASES] : [resolve(scratch)];
  if (options.unprotected) {
    if (!network) throw new InputError('--no-network needs protection: leave out --unprotected');
    return unprotected(bases[0]!);
  }
  const found = await findProtection({ command, env: process.env, bases, network });
  if ('how' in found) return found;
  const wanted = network ? 'your files' : 'your files and the network';
  const instead = network
    ? 'with --unprotected if the job may write and delete for real'
    : 'without --no-network, which needs a mount namespace';
  throw new InputError(
    `this machine lets whyslow protect ${wanted} neither with a mount namespace nor with Landlock (${found.join('; ')}). ` +
      `Start whyslow try on another machine, or ${instead}`,
  );
}

/** If the folder for temporary files cannot catch writes: it may be an overlay itself, as in a container. */
const OTHER_BASES = ['/var/tmp', '/dev/shm'];

async function list(context: CommandContext): Promise<void> {
  const { renderFixes } = await import('../../render/terminal/try.js');
  const { color, columns } = context.stdout;
  context.stdout.write(renderFixes(TRIALS, { color, columns }));
}

async function findingsOf(path: string): Promise<readonly Foretold[]> {
  const { diagnose } = await import('../../library/diagnose.js');
  return (await diagnose([path], {})).findings;
}

async function announce(
  words: readonly string[],
  options: TryFlags,
  known: readonly PlannedFix[] | null,
  protection: Protection,
  context: CommandContext,
): Promise<void> {
  const fixes = known
    ? known.map(({ fix }) => fix.id).join(', ') || 'none that a finding asks for'
    : options.all
      ? 'all'
      : 'those that the findings of a first run ask for';
  const command = words.map(quoted).join(' ');
  const turns = `${options.steps} steps a turn after ${options.warmup} of warm-up, ${formatDuration(seconds(options.budget))} in all (--budget)`;
  const { renderPoints } = await import('../../render/terminal/try.js');
  const { color, columns } = context.stderr;
  const points = [`fixes: ${fixes}`, turns, ...precautions(protection)];
  say(context, `${options.dryRun ? 'would try' : 'trying'} fixes on: ${command}`, [
    ...renderPoints('  - ', points, { color, columns }),
    ...renderPoints('      ', protection.network ? await reachesOf(words) : [], { color, columns }),
  ]);
}

/** All turns of one command, and what comes of them. */
class Tries {
  readonly #abort = new AbortController();
  readonly #started = new Date();
  readonly #clock = performance.now();
  readonly #status: StatusLine;
  #signal: NodeJS.Signals | null = null;

  constructor(
    readonly words: readonly string[],
    readonly options: TryFlags,
    readonly protection: Protection,
    readonly context: CommandContext,
  ) {
    this.#status = new StatusLine(context.stderr);
  }

  async run(findings: readonly Foretold[] | null): Promise<void> {
    const { words, options } = this;
    const id = newRunId();
    const asked = options.out ?? defaultOut(words, `${timeLabel(this.#started)}-try`);
    const { path: out, isNew } = await prepareOut(asked, id);
    const { base } = this.protection;
    const scratch = await mkdtemp(join(base, 'whyslow-try-')).catch((error: unknown) => {
      throw new InputError(
        `cannot write to ${base}: ${describeSystemError(error)}; --scratch chooses another`,
      );
    });
    const stop = (signal: NodeJS.Signals) => {
      this.#signal = signal;
      this.#abort.abort();
    };
    process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', stop);
    try {
      await this.#take(findings, { id, out, scratch });
    } finally {
      this.#status.end();
      process.off('SIGINT', stop).off('SIGTERM', stop).off('SIGHUP', stop);
      await removeTree(scratch);
      await releaseOut({ path: out, isNew });
    }
  }

  async #take(findings: readonly Foretold[] | null, places: Places): Promise<void> {
    const [{ planFixes }, { Session }, { concludeTrials }, { runTurn }] = await Promise.all([
      import('../../trial/plan.js'),
      import('../../trial/session.js'),
      import('../../trial/conclude.js'),
      import('../../trial/run-turn.js'),
    ]);
    const first = findings === null ? await this.#firstRun(places) : null;
    if (first && first.kind !== 'measured') return this.#giveUp(first, places);
    const plan = planFixes(findings ?? (await this.#diagnosed(places.out)), this.options);
    const session = new Session({
      turn: this.#turnSettings(first, turnsFor(plan)),
      scratch: places.scratch,
      runTurn,
      rounds: this.options.rounds,
      logs: places.out,
      until: this.#clock + 1000 * this.options.budget,
      onTurn: (what, number) => this.#show(`turn ${number}: ${what}`),
    });
    if (plan.length > 0) await session.run(plan);
    this.#status.end();
    const spent = { started: this.#started, seconds: this.#spent() };
    const circumstances = { ...spent, command: this.words, folder: process.cwd() };
    await this.#conclude(await concludeTrials(plan, session, circumstances), places);
  }

  async #firstRun({ id, out, scratch }: Places): Promise<TurnEnd> {
    const { runTurn } = await import('../../trial/run-turn.js');
    this.#show('first run, to find what is slow');
    const settings = this.#turnSettings(null, 2);
    // A profiler window needs about thirty steps.
    const steps = Math.max(FIRST_STEPS, settings.steps);
    const record = { out, run: id };
    return runTurn({
      ...settings,
      steps,
      folder: join(scratch, 'first'),
      fixes: [],
      record,
      keepLog: join(out, 'first.log'),
    });
  }

  /** What is left of the budget, shared among the turns. */
  #turnSettings(
    first: TurnEnd | null,
    fixes: number,
  ): Omit<TurnSettings, 'folder' | 'fixes' | 'record' | 'keepLog'> {
    const { steps, warmup, budget, limit } = this.options;
    const share = (budget - this.#spent()) / (2 * fixes + 1);
    return {
      command: this.words,
      env: process.env,
      protection: this.protection,
      steps,
      warmup,
      seconds: Math.max(LEAST_SECONDS, share / 2),
      limit: limit ?? (first ? Math.max(LEAST_LIMIT, 3 * first.seconds + LEAST_LIMIT / 2) : budget),
      abort: this.#abort.signal,
    };
  }

  async #diagnosed(out: string): Promise<readonly Foretold[]> {
    this.#show('diagnosing the first run');
    try {
      return await findingsOf(out);
    } catch (error) {
      say(this.context, `no diagnosis of the first run: ${describeSystemError(error)}`);
      return [];
    }
  }

  #giveUp({ kind, reason }: TurnEnd, { out }: Places): void {
    this.#status.end();
    if (kind === 'interrupted') return this.context.exitWith(INTERRUPTED);
    say(this.context, `nothing was measured: ${reason}`, [`its output: ${asTyped(join(out, 'first.log'))}`]);
    this.context.exitWith(EXIT.noVerdict);
  }

  async #conclude(report: TryReport, { out }: Places): Promise<void> {
    const { context, options } = this;
    const file = historyFile(process.env);
    await appendPairs(file, pairsOf(report, toolInfo().version)).catch((error: unknown) =>
      say(context, `the history was not extended: ${describeSystemError(error)}`),
    );
    await writeFile(join(out, 'try.json'), renderJson(report), { mode: ownModes(process.env).file });
    const { patch } = options;
    if (patch !== undefined && report.patch !== null) await writeFile(patch, report.patch);
    if (options.json) context.stdout.writeJson(renderJson(report.trials));
    else {
      const { renderTry } = await import('../../render/terminal/try.js');
      const { color, columns } = context.stdout;
      const record = trackRecord(await readPairs(file));
      context.stdout.write(renderTry(report, record, { color, columns, patch }));
    }
    if (report.trials.length === 0)
      say(context, 'no finding asks for a fix that can be tried; --all tries every fix');
    if (report.trials.some(({ outcome }) => outcome === 'crashed' || outcome === 'timed-out'))
      say(context, `output of turns that failed: ${asTyped(join(out, 'turn-*.log'))}`);
    say(context, `all figures: ${asTyped(join(out, 'try.json'))}`);
    if (this.#signal) context.exitWith(INTERRUPTED);
    else if (report.trials.length > 0 && report.as_it_is === null) context.exitWith(EXIT.noVerdict);
  }

  #show(what: string): void {
    this.#status.show(
      `${what} (${formatDuration(seconds(this.#spent()))} of ${formatDuration(seconds(this.options.budget))})`,
    );
  }

  #spent(): number {
    return (performance.now() - this.#clock) / 1000;
  }
}

interface Places {
  readonly id: string;
  readonly out: string;
  readonly scratch: string;
}

/** A search takes a few turns of each fix. */
const turnsFor = (plan: readonly PlannedFix[]) =>
  plan.length + SEARCHED * plan.filter((p) => p.fix.knob).length;
const SEARCHED = 3;
const FIRST_STEPS = 40;
const LEAST_SECONDS = 5;
const LEAST_LIMIT = 120;
/** As a shell reports a program that Ctrl-C has ended. */
const INTERRUPTED = 130;
