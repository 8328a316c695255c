import { readFile, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { describeSystemError, InputError } from '../../base/input-error.js';
import type { WatchedJob } from '../../machine/watch-job.js';
import { renderJson } from '../../render/json.js';
import { formatOption, outFile, wholeNumber } from '../common/arguments.js';
import { type CommandContext, EXIT } from '../common/output.js';
import { StatusLine } from '../common/progress.js';

interface TriageFlags {
  readonly pid?: number;
  readonly seconds: number;
  readonly stacks?: boolean;
  readonly out?: string;
  readonly replay?: string;
  readonly json?: boolean;
  readonly format: string;
}

const EXAMPLES = `
Examples:
  $ whyslow triage                      # finds the job on this machine
  $ whyslow triage --pid 4711 --stacks  # hung or slow? which rank is missing?
  $ whyslow triage --out samples.jsonl --json

It reads /proc and nvidia-smi (or rocm-smi) and changes nothing in the job.
--stacks needs py-spy (pip install py-spy), which pauses each process for a
few milliseconds. Ctrl-C stops watching and judges what was seen so far.

Exit codes: 0 there is a verdict; 3 there is none, or nothing trains here.`;

export function registerTriage(program: Command, context: CommandContext): void {
  program
    .command('triage')
    .description('what limits a job that is already running')
    .option('--pid <n>', 'a process of the job (default: finds it)', wholeNumber(1))
    .option('--seconds <n>', 'how long to watch', wholeNumber(1, 3600), 10)
    .option('--stacks', 'also take Python stacks with py-spy: hung or slow, and where')
    .option('--out <file>', 'also write the samples, as JSON lines', outFile)
    .option('--replay <file>', 'judge samples written by --out, instead of this machine')
    .option('--json', 'print the verdict as JSON')
    .addOption(formatOption('json'))
    .addHelpText('after', EXAMPLES)
    .action((options: TriageFlags) => runTriage(options, context));
}

async function runTriage(options: TriageFlags, context: CommandContext): Promise<void> {
  const { triage } = await import('../../report/triage-report.js');
  const seen = options.replay === undefined ? await watch(options, context) : await replay(options.replay);
  const report = triage(seen.recording, seen.stacks, seen.notes, options.replay === undefined);
  if (options.json || options.format === 'json') context.stdout.writeJson(renderJson(report));
  else if (options.format === 'brief') {
    const { briefTriage } = await import('../../render/brief/triage.js');
    context.stdout.write(briefTriage(report));
  } else {
    const { renderTriage } = await import('../../render/terminal/triage.js');
    const { color, columns } = context.stdout;
    context.stdout.write(renderTriage(report, { color, columns }));
  }
  const { bottleneck, cause } = report.verdict;
  if (options.out !== undefined) await writeRecording(options.out, seen.recording);
  if (bottleneck === 'unknown' && cause !== 'hung') context.exitWith(EXIT.noVerdict);
}

async function watch(options: TriageFlags, context: CommandContext): Promise<WatchedJob> {
  if (process.platform !== 'linux')
    throw new InputError('triage reads /proc and needs Linux. --replay judges samples from another machine');
  const [{ watchJob }, { liveLine }, { trainersIn }] = await Promise.all([
    import('../../machine/watch-job.js'),
    import('../../answers/live-job.js'),
    import('../../triage/stacks/stacks.js'),
  ]);
  const status = new StatusLine(context.stderr);
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  process.once('SIGINT', stop);
  try {
    return await watchJob({
      pid: options.pid ?? null,
      seconds: options.seconds,
      stacksOf: options.stacks ? trainersIn : null,
      env: process.env,
      onSample: (soFar) => status.show(liveLine(soFar, options.seconds)),
      stopped: () => isStopped,
    });
  } finally {
    status.end();
    process.off('SIGINT', stop);
  }
}

async function replay(path: string): Promise<WatchedJob> {
  const { readRecording } = await import('../../triage/replay.js');
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new InputError(`cannot read ${path}: ${describeSystemError(error)}`);
  });
  const { recording, skipped } = readRecording(bytes);
  const notes = skipped > 0 ? [`${skipped} lines of the recording are not valid and were left out`] : [];
  return { recording, stacks: [], notes };
}

async function writeRecording(path: string, recording: WatchedJob['recording']): Promise<void> {
  const { recordingLines } = await import('../../machine/recording-file.js');
  await writeFile(path, `${recordingLines(recording).join('\n')}\n`).catch((error: unknown) => {
    throw new InputError(`cannot write ${path}: ${describeSystemError(error)}`);
  });
}
