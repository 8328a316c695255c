import type { Command } from 'commander';
import { formatWhole } from '../../base/units.js';
import { jobCount, PATHS, rankList } from '../common/arguments.js';
import { type CommandContext, sayProblems } from '../common/output.js';
import { progressOn } from '../common/progress.js';
import { preferSmallHeap } from '../common/v8-flags.js';

interface ExportFlags {
  readonly out: string;
  readonly force?: boolean;
  readonly ranks?: readonly number[];
  readonly run?: string;
  readonly jobs?: number;
}

export function registerExport(program: Command, context: CommandContext): void {
  program
    .command('export')
    .description('write a run as Parquet files: steps, kernels, findings, …')
    .argument('<path...>', PATHS)
    .requiredOption('-o, --out <dir>', 'folder for the files')
    .option('--force', 'replace tables that are there')
    .option('--ranks <list>', 'use only these ranks, e.g. 0,2-5', rankList)
    .option('--run <id>', 'use only this run, if the files are of several (default: the newest)')
    .option('--jobs <n>', 'files to read at once (default: one per core)', jobCount)
    .addHelpText(
      'after',
      '\nExamples:\n  $ whyslow export runs/llama -o tables\n  $ whyslow sql tables "SELECT rank, max(duration_ms) FROM steps GROUP BY rank"\n\nThe columns are listed in docs/tables.md.',
    )
    .action(async (paths: string[], options: ExportFlags) => {
      const { exportTables } = await import('../../library/export.js');
      preferSmallHeap();
      const progress = progressOn(context);
      const { rows, problems } = await exportTables(paths, { ...options, progress }).finally(() =>
        progress.end(),
      );
      sayProblems(problems, context);
      for (const [name, count] of Object.entries(rows))
        context.stdout.line(
          `${options.out}/${name}.parquet  ${formatWhole(count)} ${count === 1 ? 'row' : 'rows'}`,
        );
    });
}
