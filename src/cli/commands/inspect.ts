import type { Command } from 'commander';
import { renderJson } from '../../render/json.js';
import { positiveInteger } from '../common/arguments.js';
import type { CommandContext } from '../common/context.js';
import { ProgressLine } from '../common/progress.js';

interface InspectOptions {
  readonly json?: boolean;
  readonly jobs?: number;
}

export function registerInspect(program: Command, context: CommandContext): void {
  program
    .command('inspect')
    .description('what is in it: files, ranks, devices, steps, events by category, problems, reading speed')
    .argument(
      '<path...>',
      'files, directories, patterns, or - for standard input; .gz .zst .tar .zip are opened',
    )
    .option('--json', 'print the report as JSON')
    .option('--jobs <n>', 'files read at once (default: one a core)', positiveInteger)
    .addHelpText(
      'after',
      '\nExamples:\n  $ whyslow inspect runs/llama\n  $ zcat rank0.json.gz | whyslow inspect - --json',
    )
    .action(async (paths: string[], options: InspectOptions) => {
      // Loaded when asked for: --help and other commands start faster without the readers.
      const [{ inspect }, { renderInspect }] = await Promise.all([
        import('../../library/inspect.js'),
        import('../../render/terminal/inspect.js'),
      ]);
      const progress = new ProgressLine(context.stderr);
      const { jobs } = options;
      const report = await inspect(paths, { progress, jobs }).finally(() => progress.end());
      context.stdout.write(options.json ? renderJson(report) : renderInspect(report, context.color));
    });
}
