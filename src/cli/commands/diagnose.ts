import { type Command, Option } from 'commander';
import { isAboutMemory } from '../../answers/run/memory.js';
import { InputError } from '../../base/input-error.js';
import { bytes, formatBytes } from '../../base/units.js';
import type { Bottleneck, Report, StepRange } from '../../library/vocabulary.js';
import { renderJson } from '../../render/json.js';
import {
  bottleneckList,
  formatOption,
  jobCount,
  outFile,
  PATHS,
  price,
  rankList,
  stepRange,
} from '../common/arguments.js';
import { ADDRESS_ALONE, type EngineFlags, engineOptions } from '../common/engines.js';
import { type CommandContext, EXIT, say } from '../common/output.js';
import { progressOn } from '../common/progress.js';
import { expectToRunOnce } from '../common/v8-flags.js';

interface DiagnoseFlags extends EngineFlags {
  readonly json?: boolean;
  readonly format?: string;
  readonly html?: string;
  readonly title?: string;
  readonly all?: boolean;
  readonly steps?: StepRange;
  readonly ranks?: readonly number[];
  readonly run?: string;
  readonly failOn?: readonly Bottleneck[];
  readonly jobs?: number;
  readonly price?: number;
  readonly parts?: string;
  /** Not an option: what `run` got from other nodes. */
  readonly factsOf?: ReadonlyMap<string, string>;
}

const EXAMPLES = `
Examples:
  $ whyslow diagnose runs/llama
  $ whyslow diagnose runs/llama --html report.html
  $ whyslow diagnose trace.json.gz --steps 3-6 --json
  $ whyslow diagnose runs/llama --format brief
  $ whyslow diagnose runs/llama --ranks 0,8-15 --fail-on data,comms
  $ whyslow diagnose /scratch/runs/llama --on ray

Exit codes: 0 done; 1 the bottleneck is in --fail-on; 2 bad usage or input;
3 no verdict.`;

export function registerDiagnose(program: Command, context: CommandContext): void {
  program
    .command('diagnose')
    .description('why training is slow and what to change')
    .argument('<path...>', PATHS)
    .option('--json', 'print the report as JSON (docs/report.schema.json)')
    .addOption(formatOption('json'))
    .option('--html <file>', 'also write the page: one HTML file to open, keep or mail', outFile)
    .option('--title <text>', 'title of the page')
    .option('--all', 'show every finding, rank and problem in full, and the rules that did not fire')
    .option('--steps <range>', 'use only these steps: 3-6, 3-, -6 or 3', stepRange)
    .option('--ranks <list>', 'use only these ranks, e.g. 0,2-5', rankList)
    .option('--run <id>', 'use only this run, if the files are of several (default: the newest)')
    .option('--fail-on <names>', 'exit 1 if the bottleneck is one of these, e.g. data,comms', bottleneckList)
    .option('--jobs <n>', 'files to read at once (default: one per core)', jobCount)
    .option(
      '--price <amount>',
      'price of one GPU-hour, e.g. 2.50: shows what the bottleneck and each fix are worth',
      price,
    )
    .addOption(new Option('--parts <folder>', 'what the Python package shows').hideHelp())
    .addOption(engineOptions()[0]!)
    .addOption(engineOptions()[1]!)
    .addHelpText('after', EXAMPLES)
    .action(async (paths: string[], options: DiagnoseFlags) => {
      if (options.title !== undefined && options.html === undefined)
        throw new InputError('--title is the title of the page: add --html FILE');
      if (options.on && options.html !== undefined)
        throw new InputError(
          '--html with --on: make the facts first (`whyslow facts --on …`), then `whyslow diagnose DIR --html FILE`',
        );
      if (options.address !== undefined && !options.on) throw new InputError(ADDRESS_ALONE);
      const report = options.on
        ? await diagnosedOnEngine(paths, options, context)
        : await (options.html === undefined ? diagnosed : diagnosedWithPage)(paths, options, context);
      // Slurm gave no allocation yet: the script that asks for one is printed.
      if (report === null) return;
      if (options.parts !== undefined) {
        const { writeParts } = await import('../common/page-file.js');
        writeParts(options.parts, report);
      }
      if (options.json || options.format === 'json') context.stdout.writeJson(renderJson(report));
      else context.stdout.write(await forTerminal(report, options, context));
      setExitCode(report, options.failOn ?? [], context);
    });
}

/** Loads the library and the renderer on demand: other commands start faster without them. */
export async function diagnosed(
  paths: readonly string[],
  options: DiagnoseFlags,
  context: CommandContext,
): Promise<Report> {
  const { steps = null, ranks = null, run = null, jobs, factsOf, all: everyRank, price } = options;
  expectToRunOnce(paths);
  const { diagnose } = await import('../../library/diagnose.js');
  const progress = progressOn(context);
  return diagnose(paths, { steps, ranks, run, progress, jobs, factsOf, everyRank, price }).finally(() =>
    progress.end(),
  );
}

/** The same, and writes the page. */
async function diagnosedWithPage(
  paths: readonly string[],
  options: DiagnoseFlags,
  context: CommandContext,
): Promise<Report> {
  const file = options.html!;
  const [{ diagnoseForPage }, { checkWritable, writePage }] = await Promise.all([
    import('../../library/page.js'),
    import('../common/page-file.js'),
  ]);
  checkWritable(file);
  const progress = progressOn(context);
  const { steps = null, ranks = null, run = null, jobs, title = null, all: everyRank, price } = options;
  const { report, page, timeline } = await diagnoseForPage(paths, title, {
    steps,
    ranks,
    run,
    progress,
    jobs,
    everyRank,
    price,
  }).finally(() => progress.end());
  const size = writePage(file, page, timeline);
  say(context, `the page is in ${file} (${formatBytes(bytes(size))})`);
  return report;
}

/** Facts are made on the machines that have the traces; the rest happens here. Null: there is a script to submit first. */
async function diagnosedOnEngine(
  paths: readonly string[],
  options: DiagnoseFlags,
  context: CommandContext,
): Promise<Report | null> {
  const { factsOnEngine, inFactsFolder } = await import('../common/engines.js');
  const { diagnose } = await import('../../library/diagnose.js');
  const { on, steps, ranks = null, run = null, jobs, all: everyRank, price } = options;
  return inFactsFolder(on, async (out) => {
    const progress = progressOn(context);
    const made = await factsOnEngine(
      { paths, out, scriptOut: 'whyslow-facts', steps, progress },
      options,
    ).finally(() => progress.end());
    if (typeof made === 'string') {
      context.stdout.write(made);
      return null;
    }
    const shown = { shownAs: made.madeOf, elsewhere: made };
    const settings = { steps: steps ?? null, ranks, run, jobs, progress, everyRank, price };
    return diagnose(out, { ...settings, ...shown }).finally(() => progress.end());
  });
}

export async function forTerminal(
  report: Report,
  options: DiagnoseFlags,
  context: CommandContext,
  target = context.stdout,
): Promise<string> {
  if (options.format === 'brief') {
    const { briefDiagnose } = await import('../../render/brief/diagnose.js');
    return briefDiagnose(report);
  }
  const { renderDiagnose } = await import('../../render/terminal/diagnose.js');
  return renderDiagnose(report, {
    color: target.color,
    columns: target.columns,
    all: options.all ?? false,
  });
}

/** `--fail-on unknown` comes before the exit code of "no verdict". */
function setExitCode(report: Report, failOn: readonly Bottleneck[], context: CommandContext): void {
  const { bottleneck, cause } = report.verdict;
  if (failOn.includes(bottleneck)) {
    say(context, `exit code 1, because the bottleneck is ${bottleneck} (--fail-on)`);
    context.exitWith(EXIT.gateFailed);
  } else if (bottleneck === 'unknown' && !isAboutMemory(cause)) context.exitWith(EXIT.noVerdict);
}
