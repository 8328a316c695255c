import type { Command } from 'commander';
import { renderJson } from '../../render/json.js';
import { jobCount, PATHS } from '../common/arguments.js';
import type { CommandContext } from '../common/output.js';
import { progressOn } from '../common/progress.js';

interface InspectFlags {
  readonly json?: boolean;
  readonly jobs?: number;
}

export function registerInspect(program: Command, context: CommandContext): void {
  program
    .command('inspect')
    .description('list what is in the files: ranks, steps, events, problems')
    .argument('<path...>', PATHS)
    .option('--json', 'print the report as JSON')
    .option('--jobs <n>', 'files to read at once (default: one per core)', jobCount)
    .addHelpText(
      'after',
      '\nExamples:\n  $ whyslow inspect runs/llama\n  $ zcat rank0.json.gz | whyslow inspect - --json',
    )
    .action(async (paths: string[], options: InspectFlags) => {
      // Loaded on demand: --help and other commands start faster without the readers.
      const [{ inspect }, { renderInspect }] = await Promise.all([
        import('../../library/inspect.js'),
        import('../../render/terminal/inspect.js'),
      ]);
      const progress = progressOn(context);
      const report = await inspect(paths, { progress, jobs: options.jobs }).finally(() => progress.end());
      if (options.json) context.stdout.writeJson(renderJson(report));
      else context.stdout.write(renderInspect(report, context.stdout));
    });
}
