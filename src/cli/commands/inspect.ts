import { type Command, InvalidArgumentError } from 'commander';
import { readInputs } from '../../ingest/read-run.js';
import { renderJson } from '../../render/json.js';
import { renderInspect } from '../../render/terminal/inspect.js';
import { buildInspectReport } from '../../report/inspect-report.js';
import type { Streams } from '../main.js';
import { ProgressLine } from '../progress.js';

interface InspectOptions {
  readonly json?: boolean;
  readonly jobs?: number;
}

export function registerInspect(program: Command, streams: Streams): void {
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
      const progress = new ProgressLine(streams.stderr);
      const jobs = options.jobs === undefined ? {} : { jobs: options.jobs };
      const run = await readInputs(paths, { want: 'summary', progress, ...jobs }).finally(() =>
        progress.end(),
      );
      const report = buildInspectReport(run);
      streams.stdout.write(options.json ? renderJson(report) : renderInspect(report, streams.color));
    });
}

function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new InvalidArgumentError('it must be a whole number from 1 to 9999.');
  return Number(text);
}
