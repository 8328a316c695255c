import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readRanks } from './job.js';
import { isRunOf } from './run-id.js';

export interface Captured {
  /** Ranks of this run that started measuring. */
  readonly ranks: number;
  /** Whether there is anything to diagnose. */
  readonly hasRecords: boolean;
}

/** What a run has written. */
export async function whatWasCaptured(out: string, run: string): Promise<Captured> {
  const ranks = (await readRanks(out)).filter((m) => isRunOf(m.run, run)).length;
  return { ranks, hasRecords: (await hasTraces(out)) || (await hasEvents(join(out, 'cuda_event_profiler'))) };
}

async function hasTraces(out: string): Promise<boolean> {
  const files = await readdir(join(out, 'traces'), { recursive: true }).catch(() => []);
  return files.some((name) => /-trace\.(?:json|tar)\.gz$/.test(name));
}

async function hasEvents(folder: string): Promise<boolean> {
  for (const name of await readdir(folder).catch(() => []))
    if (name.endsWith('.jsonl') && (await hasRecord(join(folder, name)))) return true;
  return false;
}

const HEAD_BYTES = 65_536;

/** Whether an event log holds more than a header. */
async function hasRecord(path: string): Promise<boolean> {
  const file = await open(path).catch(() => null);
  if (!file) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('latin1', 0, bytesRead).includes('"duration_ms"');
  } finally {
    await file.close();
  }
}

/** Why nothing may have been captured, and what always works. */
export function explainNothing(captured: Captured, out: string): string {
  const [what, reasons] =
    captured.ranks === 0
      ? ['nothing was captured: no training step was seen in any process of this command', NO_STEP_SEEN]
      : [
          `no step was recorded, although whyslow was active in ${processes(captured.ranks)}`,
          NO_STEP_RECORDED,
        ];
  return [
    `${what}. Possible reasons:`,
    ...reasons.map((reason) => `  - ${reason}`),
    'These lines in the training loop always work:',
    '    import whyslow_capture',
    `    with whyslow_capture.capture(${JSON.stringify(out)}) as cap:`,
    '        ...  # the loop, with cap.step() at the end of each step',
  ].join('\n');
}

const processes = (count: number) => (count === 1 ? '1 process' : `${count} processes`);

const NO_STEP_SEEN = [
  'no Python process imported torch',
  'no torch.optim optimizer made a step, which is how the end of a step is recognised',
  'Python ran with -I, -E or -S, or the command sets PYTHONPATH itself',
  'the work ran in a container or on a machine that does not inherit this environment',
  'WHYSLOW_ENABLED is off, or the configuration excludes these ranks',
];
const NO_STEP_RECORDED = [
  'the job ended before the first recorded step (--every 1 records all steps, --start-step sets the first)',
  'the disk was full or OUT could not be written (see the warnings above)',
];
