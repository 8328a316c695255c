import { realpathSync } from 'node:fs';
import type { Command } from 'commander';
import { describeSystemError, InputError } from '../../base/input-error.js';
import { renderJson } from '../../render/json.js';
import { wholeNumber } from '../common/arguments.js';
import type { CommandContext } from '../common/output.js';
import { StatusLine } from '../common/progress.js';

interface DoctorFlags {
  readonly data?: string;
  readonly pid?: number;
  readonly python?: string;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ whyslow doctor --data /mnt/imagenet
  $ whyslow doctor --pid 4711 --json     # with that job's environment and limits

It changes nothing. Each check is a pass, a warning, a failure or skipped, with
the value it saw and what to do.`;

export function registerDoctor(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('check the machine: driver, GPUs, CPUs, disks, NCCL, torch')
    .option('--data <directory>', 'the training data: which disk it is on, and how fast small reads are')
    .option('--pid <n>', 'use the environment and the limits of this process', wholeNumber(1))
    .option('--python <path>', 'the Python that trains (default: the active one)')
    .option('--json', 'print the checks as JSON')
    .addHelpText('after', EXAMPLES)
    .action((options: DoctorFlags) => runDoctor(options, context));
}

async function runDoctor({ data, pid, python, json }: DoctorFlags, context: CommandContext): Promise<void> {
  if (process.platform !== 'linux') throw new InputError('doctor reads /proc and /sys and needs Linux');
  const [{ probeMachine }, { examine }, { renderDoctor }] = await Promise.all([
    import('../../machine/probe.js'),
    import('../../doctor/examine.js'),
    import('../../render/terminal/doctor.js'),
  ]);
  const status = new StatusLine(context.stderr);
  status.show('looking at the machine; importing torch takes a few seconds');
  const probe = probeMachine({
    pid: pid ?? null,
    python: python ?? null,
    data: data === undefined ? null : realPath(data),
  });
  const report = await examine(probe).finally(() => status.end());
  const { color, columns } = context.stdout;
  if (json) context.stdout.writeJson(renderJson(report));
  else context.stdout.write(renderDoctor(report, { color, columns }));
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new InputError(`cannot read ${path}: ${describeSystemError(error)}`);
  }
}
