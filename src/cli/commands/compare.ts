import type { Command } from 'commander';
import { InputError } from '../../base/input-error.js';
import { bytes, formatBytes } from '../../base/units.js';
import type { CompareReport, FirstRunReport } from '../../library/vocabulary.js';
import { renderJson } from '../../render/json.js';
import { formatOption, jobCount, outFile, percentage } from '../common/arguments.js';
import { type CommandContext, EXIT, say } from '../common/output.js';
import { progressOn } from '../common/progress.js';

interface CompareFlags {
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  readonly failOver?: number;
  readonly history?: string;
  readonly accept?: boolean;
  readonly json?: boolean;
  readonly markdown?: boolean;
  readonly format?: string;
  readonly html?: string;
  readonly all?: boolean;
  readonly jobs?: number;
}

const EXAMPLES = `
A run is a trace, an event log, a folder of whyslow run, or a report of
diagnose --json. A folder of such folders is several runs. Several runs on a
side show how much runs of the same code differ.

Examples:
  $ whyslow compare runs/main runs/my-change
  $ whyslow compare --before runs/main-* --after runs/change-* --fail-over 5%
  $ whyslow compare runs/today --history perf.jsonl --markdown
  $ whyslow compare runs/main runs/my-change --html compare.html

Exit codes: 0 done; 1 slower than --fail-over allows; 2 bad usage or input;
3 the runs are inconclusive (0 with --fail-over).`;

export function registerCompare(program: Command, context: CommandContext): void {
  program
    .command('compare')
    .description('did it get faster, where, and is that more than noise')
    .argument('[run...]', 'the run before, then the runs after; with --history only the new runs')
    .option('--before <runs...>', 'runs before the change')
    .option('--after <runs...>', 'runs after it')
    .option(
      '--fail-over <percent>',
      'exit 1 if the run is slower by more than this with 95% confidence, e.g. 5%',
      percentage,
    )
    .option('--history <file>', 'compare with the last good runs in this file, and add the new runs to it')
    .option('--accept', 'with --history: later runs are compared with this one even if it is slower')
    .option('--json', 'print the comparison as JSON')
    .option('--markdown', 'print it as Markdown, for a comment on a pull request')
    .addOption(formatOption('json', 'markdown'))
    .option('--html <file>', 'also write it as a page: one HTML file to open, keep or mail', outFile)
    .option('--all', 'show all rows of the tables')
    .option('--jobs <n>', 'files to read at once (default: one per core)', jobCount)
    .addHelpText('after', EXAMPLES)
    .action(async (runs: string[], given: CompareFlags) => {
      const options = {
        ...given,
        json: given.json || given.format === 'json',
        markdown: given.markdown || given.format === 'markdown',
      };
      const writePage = options.html === undefined ? null : await pageWriter(options.html, context);
      const report = await (options.history === undefined
        ? comparedSides(runs, options, context)
        : comparedHistory(runs, options.history, options, context));
      if (!report) return;
      await show(report, options, context);
      writePage?.(report);
      setExitCode(report, options.failOver ?? null, context);
    });
}

async function comparedSides(
  runs: readonly string[],
  options: CompareFlags,
  context: CommandContext,
): Promise<CompareReport> {
  const { before = [], after = [], jobs } = options;
  const [first, ...rest] = runs;
  const named = before.length > 0 || after.length > 0;
  const left = before.length > 0 || first === undefined ? before : [first];
  const right = before.length > 0 ? [...runs, ...after] : [...rest, ...after];
  if (options.accept) throw new InputError('--accept needs --history');
  if (left.length === 0 || right.length === 0)
    throw new InputError(
      named
        ? 'both sides need a run: --before RUN… --after RUN…'
        : 'name the run before and the run after: whyslow compare BEFORE AFTER',
    );
  const { compare } = await import('../../library/compare.js');
  const progress = progressOn(context);
  return compare(left, right, { progress, jobs }).finally(() => progress.end());
}

/** Undefined: the first run, with which nothing can be compared yet. */
async function comparedHistory(
  runs: readonly string[],
  file: string,
  { before = [], after = [], jobs, accept, json, markdown, html }: CompareFlags,
  context: CommandContext,
): Promise<CompareReport | undefined> {
  if (before.length > 0) throw new InputError('--history is the side before; leave out --before');
  const added = [...runs, ...after];
  if (added.length === 0) throw new InputError('name the run to compare: whyslow compare RUN --history FILE');
  const { compareHistory } = await import('../../library/compare.js');
  const progress = progressOn(context);
  const options = { progress, jobs, accept: accept ?? false };
  const { report, broken } = await compareHistory(added, file, options).finally(() => progress.end());
  if (broken > 0) say(context, `${file}: ${broken} lines are no runs and were left out`);
  if (report) return report;
  const sentence = `${file} had no run to compare with; this one was added`;
  if (json) context.stdout.writeJson(renderJson(firstRun(sentence)));
  else context.stdout.write(markdown ? `${sentence}.\n` : `${sentence}\n`);
  if (html !== undefined) say(context, `${html} was not written: there is nothing to compare yet`);
  return undefined;
}

const firstRun = (sentence: string): FirstRunReport => ({
  schema: 'whyslow/compare/1',
  verdict: 'cannot-tell',
  sentence,
  step: null,
  history: { runs: 0, compared: 0, points: [], change: null },
  notes: [],
});

/** Before the work begins: whether the page can be written. */
async function pageWriter(file: string, context: CommandContext): Promise<(report: CompareReport) => void> {
  const { checkWritable, writeComparePage } = await import('../common/page-file.js');
  checkWritable(file);
  return (report) => {
    const size = writeComparePage(file, report);
    say(context, `the page is in ${file} (${formatBytes(bytes(size))})`);
  };
}

async function show(report: CompareReport, options: CompareFlags, { stdout }: CommandContext): Promise<void> {
  if (options.json) return stdout.writeJson(renderJson(report));
  if (options.markdown) {
    const { markdownCompare } = await import('../../render/markdown/compare.js');
    return stdout.write(markdownCompare(report));
  }
  if (options.format === 'brief') {
    const { briefCompare } = await import('../../render/brief/compare.js');
    return stdout.write(briefCompare(report));
  }
  const { renderCompare } = await import('../../render/terminal/compare.js');
  const { color, columns } = stdout;
  stdout.write(renderCompare(report, { color, columns, all: options.all ?? false }));
}

/** The gate fails only for what is certain. If the runs are inconclusive, it passes and says so. */
function setExitCode(report: CompareReport, failOver: number | null, context: CommandContext): void {
  const { verdict, step } = report;
  if (failOver === null) {
    if (verdict === 'cannot-tell') context.exitWith(EXIT.noVerdict);
    return;
  }
  const percent = `${Number((100 * failOver).toPrecision(3))}%`;
  const surely = 1 / step.speedup.high - 1;
  if (surely > failOver) {
    say(context, `exit code 1, because it is slower by more than ${percent} (--fail-over)`);
    context.exitWith(EXIT.gateFailed);
  } else if (1 / step.speedup.likely - 1 > failOver)
    say(context, `--fail-over: slower by more than ${percent} is likely, but not certain; it passes`);
}
