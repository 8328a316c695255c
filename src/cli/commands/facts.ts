import { type Command, Option } from 'commander';
import { InputError } from '../../base/input-error.js';
import { quoted } from '../../base/printable.js';
import { bytes, formatBytes, formatCount } from '../../base/units.js';
import { type FactsReport, type Share, type StepRange, stepsOption } from '../../library/vocabulary.js';
import { renderJson } from '../../render/json.js';
import { fileShare, jobCount, PATHS, stepRange } from '../common/arguments.js';
import { ADDRESS_ALONE, type EngineFlags, engineOptions, factsOnEngine } from '../common/engines.js';
import { type CommandContext, say, sayProblems } from '../common/output.js';
import { progressOn } from '../common/progress.js';

interface FactsFlags extends EngineFlags {
  readonly out?: string;
  readonly json?: boolean;
  readonly steps?: StepRange;
  readonly jobs?: number;
  readonly share?: Share;
  readonly root?: string;
  readonly list?: boolean;
  readonly found?: boolean;
}

const EXAMPLES = `
Examples:
  $ whyslow facts /scratch/runs/llama -o facts
  $ whyslow diagnose facts
  $ whyslow diagnose facts more/rank7.json.gz
  $ whyslow facts /scratch/runs/llama -o facts --on ray
  $ whyslow facts runs/llama -o facts --on dask --address tcp://head:8786`;

export function registerFacts(program: Command, context: CommandContext): void {
  program
    .command('facts')
    .description('reduce each trace to a small file that diagnose can use instead')
    .argument('<path...>', PATHS)
    .option('-o, --out <dir>', 'where the files go (required)')
    .option('--json', 'print what was written as JSON')
    .option('--steps <range>', 'use only these steps: 3-6, 3-, -6 or 3', stepRange)
    .option('--jobs <n>', 'files to read at once (default: one per core)', jobCount)
    .option(
      '--share <i/n>',
      'only the i-th of n shares of the files, from 0/n on, e.g. for a job array',
      fileShare,
    )
    .addOption(engineOptions()[0]!)
    .addOption(engineOptions()[1]!)
    .addOption(new Option('--root <dir>', 'names in DIR are paths below this one').hideHelp())
    .addOption(new Option('--found', 'the paths were found, not named').hideHelp())
    .addOption(new Option('--list', 'print the files that would be read').hideHelp())
    .addHelpText('after', EXAMPLES)
    .action(async (paths: string[], flags: FactsFlags) => {
      const { facts, listInputs } = await import('../../library/facts.js');
      if (flags.list) return context.stdout.writeJson(renderJson(await listInputs(paths)));
      const { out, json, steps, jobs, share, root, found } = flags;
      if (flags.address !== undefined && !flags.on) throw new InputError(ADDRESS_ALONE);
      if (out === undefined) throw new InputError('say where the facts go: -o DIR');
      const progress = progressOn(context);
      if (flags.on) {
        const made = await factsOnEngine({ paths, out, steps, progress }, flags).finally(() =>
          progress.end(),
        );
        if (typeof made === 'string') return context.stdout.write(made);
        for (const { path, why } of made.lost)
          say(context, `${path} could not be read on the cluster: ${why}`);
        context.stdout.line(`Facts in ${formatCount(made.madeOf.size, 'file')} in ${out}`);
        return sayNext(out, steps, context);
      }
      const report = await facts(paths, {
        folder: out,
        steps,
        jobs,
        share,
        root,
        areFound: found,
        progress,
      }).finally(() => progress.end());
      if (json) context.stdout.writeJson(renderJson(report));
      else sayWritten(report, out, steps, context);
    });
}

function sayWritten(
  { written, problems }: FactsReport,
  out: string,
  steps: StepRange | undefined,
  context: CommandContext,
): void {
  const traces = written.filter((w) => w.path.endsWith('.facts'));
  const size = formatBytes(bytes(written.reduce((sum, w) => sum + w.bytes, 0)));
  const copied = written.length - traces.length;
  const beside = copied > 0 ? ` and ${formatCount(copied, 'other file')}` : '';
  sayProblems(problems, context);
  context.stdout.line(`Facts of ${formatCount(traces.length, 'trace')}${beside}: ${size} in ${out}`);
  sayNext(out, steps, context);
}

function sayNext(out: string, steps: StepRange | undefined, { stdout }: CommandContext): void {
  const same = steps ? ` --steps ${stepsOption(steps)}` : '';
  stdout.line(`Next: whyslow diagnose ${quoted(out)}${same}`);
}
