import type { Command } from 'commander';
import { namedRanks } from '../../base/rank-ranges.js';
import { bytes, formatBytes, formatCount, formatNumber } from '../../base/units.js';
import type { StepRange } from '../../library/vocabulary.js';
import { jobCount, nameList, outFile, PATHS, rankList, stepRange } from '../common/arguments.js';
import { type CommandContext, say, sayProblems } from '../common/output.js';
import { progressOn } from '../common/progress.js';

interface MergeFlags {
  readonly out: string;
  readonly steps?: StepRange;
  readonly ranks?: readonly number[];
  readonly run?: string;
  readonly drop?: readonly string[];
  readonly jobs?: number;
  readonly force?: boolean;
}

const EXAMPLES = `
Examples:
  $ whyslow merge runs/llama -o all.json.gz --steps 12
  $ whyslow merge runs/llama -o all.json.gz --ranks 0-7 --drop cpu_op,python_function

Open the file at https://ui.perfetto.dev. Arrows lead through the slices of each
matched collective, from the rank that came first to the one that came last.`;

export function registerMerge(program: Command, context: CommandContext): void {
  program
    .command('merge')
    .description('join the traces of all ranks into one, on one clock')
    .argument('<path...>', PATHS)
    .requiredOption('-o, --out <file>', 'file to write: .json.gz, or .json', outFile)
    .option('--steps <range>', 'keep only these steps: 3-6, 3-, -6 or 3', stepRange)
    .option('--ranks <list>', 'use only these ranks, e.g. 0,2-5', rankList)
    .option('--run <id>', 'use only this run, if the files are of several (default: the newest)')
    .option('--drop <names>', 'leave out these categories, e.g. python_function,cpu_op', nameList)
    .option('--jobs <n>', 'files to read at once (default: one per core)', jobCount)
    .option('--force', 'replace the file if it exists')
    .addHelpText('after', EXAMPLES)
    .action(async (paths: string[], { steps, drop = [], force = false, ...options }: MergeFlags) => {
      const { merge } = await import('../../library/rewrite.js');
      const progress = progressOn(context);
      const done = await merge(paths, { ...options, steps: steps ?? null, drop, force, progress }).finally(
        () => progress.end(),
      );
      sayProblems(done.problems, context);
      if (done.unaligned.length > 0)
        say(
          context,
          `${namedRanks(done.unaligned)}: no collectives shared with the other ranks; times are as recorded`,
        );
      const size = `${formatNumber(done.events)} events, ${formatBytes(bytes(done.bytes))} of JSON`;
      context.stdout.line(`${options.out}: ${formatCount(done.ranks, 'rank')}, ${size}`);
    });
}
