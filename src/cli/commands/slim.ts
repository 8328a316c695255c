import { type Command, InvalidArgumentError } from 'commander';
import { bytes, formatBytes, formatNumber } from '../../base/units.js';
import type { StepRange } from '../../library/vocabulary.js';
import { nameList, outFile, stepRange } from '../common/arguments.js';
import { type CommandContext, sayProblems } from '../common/output.js';
import { progressOn } from '../common/progress.js';

interface SlimFlags {
  readonly out: string;
  readonly steps?: StepRange;
  readonly drop?: readonly string[];
  readonly max?: number;
  readonly force?: boolean;
}

const EXAMPLES = `
Examples:
  $ whyslow slim trace.json.gz -o small.json.gz --steps 12-14
  $ whyslow slim trace.json.gz -o small.json.gz --max 200MB
  $ whyslow slim trace.json.gz -o gpu.json.gz --drop python_function,cpu_op

The step before the first one is kept too: the first one may wait for it.
\`whyslow inspect\` lists the steps and categories of a trace.`;

export function registerSlim(program: Command, context: CommandContext): void {
  program
    .command('slim')
    .description('cut a trace down to a size that Perfetto can open')
    .argument('<trace>', 'a PyTorch profiler trace; .gz and .zst work too')
    .requiredOption('-o, --out <file>', 'file to write: .json, or .json.gz to pack it', outFile)
    .option('--steps <range>', 'keep only these steps: 3-6, 3-, -6 or 3', stepRange)
    .option('--drop <names>', 'leave out these categories, e.g. python_function,cpu_op', nameList)
    .option('--max <size>', 'keep as many steps as fit into this much JSON, before packing: 200MB', byteSize)
    .option('--force', 'replace the file if it exists')
    .addHelpText('after', EXAMPLES)
    .action(async (trace: string, { out, steps, drop = [], max, force = false }: SlimFlags) => {
      const { slim } = await import('../../library/rewrite.js');
      const progress = progressOn(context);
      progress.start(1, 0);
      const done = await slim(trace, {
        out,
        steps: steps ?? null,
        drop,
        max: max ?? null,
        force,
        onBytes: (stored) => progress.update(stored, 0),
      }).finally(() => progress.end());
      sayProblems(done.problems, context);
      const kept = `${formatNumber(done.events)} of ${formatNumber(done.of)} events`;
      const [first, last] = done.steps ?? [];
      const which = first === last ? `, step ${first}` : `, steps ${first} to ${last}`;
      const without = done.dropped.length > 0 ? `, without ${done.dropped.join(', ')}` : '';
      context.stdout.line(
        `${out}: ${kept}${done.steps ? which : ''}${without}, ${formatBytes(bytes(done.bytes))} of JSON`,
      );
    });
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
};

/** `200MB`, `1.5 GB`, `512MiB`. */
function byteSize(text: string): number {
  const [, digits, unit] = /^(\d{1,9}(?:\.\d{1,9})?)\s*([kmg]?i?)b?$/i.exec(text.trim()) ?? [];
  const value = Math.floor(Number(digits) * (UNITS[(unit ?? '').toLowerCase()] ?? Number.NaN));
  if (!(value > 0)) throw new InvalidArgumentError('It must be a size such as 200MB.');
  return value;
}
