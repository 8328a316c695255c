import { type Command, Option } from 'commander';
import { quoted } from '../../base/shell.js';
import { bytes, formatBytes, formatCount } from '../../base/units.js';
import type { FactsReport, StepRange } from '../../library/vocabulary.js';
import { renderJson } from '../../render/json.js';
import { jobCount, PATHS, stepRange } from '../common/arguments.js';
import { type CommandContext, say } from '../common/context.js';
import { progressOn } from '../common/progress.js';

interface FactsFlags {
  readonly out: string;
  readonly json?: boolean;
  readonly steps?: StepRange;
  readonly jobs?: number;
  readonly root?: string;
}

const EXAMPLES = `
Examples:
  $ whyslow facts /scratch/runs/llama -o facts
  $ whyslow diagnose facts
  $ whyslow diagnose facts more/rank7.json.gz`;

export function registerFacts(program: Command, context: CommandContext): void {
  program
    .command('facts')
    .description('write what diagnose needs of each trace into a small file (at most 2 MB a rank)')
    .argument('<path...>', PATHS)
    .requiredOption('-o, --out <dir>', 'where the files go')
    .option('--json', 'print what was written as JSON')
    .option('--steps <range>', 'use only these steps: 3-6, 3-, -6 or 3', stepRange)
    .option('--jobs <n>', 'files to read at once (default: one per core)', jobCount)
    .addOption(new Option('--root <dir>', 'names in DIR are paths below this one').hideHelp())
    .addHelpText('after', EXAMPLES)
    .action(async (paths: string[], { out, json, steps, jobs, root }: FactsFlags) => {
      const { facts } = await import('../../library/facts.js');
      const progress = progressOn(context);
      const report = await facts(paths, { folder: out, steps, jobs, root, progress }).finally(() =>
        progress.end(),
      );
      if (json) context.stdout.writeJson(renderJson(report));
      else sayWritten(report, out, context);
    });
}

function sayWritten({ written, problems }: FactsReport, out: string, context: CommandContext): void {
  const traces = written.filter((w) => w.path.endsWith('.facts'));
  const size = formatBytes(bytes(written.reduce((sum, w) => sum + w.bytes, 0)));
  const copied = written.length - traces.length;
  const beside = copied > 0 ? ` and ${formatCount(copied, 'other file')}` : '';
  for (const { message, consequence } of problems) say(context, `${message}: ${consequence}`);
  context.stdout.line(`Facts of ${formatCount(traces.length, 'trace')}${beside}: ${size} in ${out}`);
  context.stdout.line(`Next: whyslow diagnose ${quoted(out)}`);
}
