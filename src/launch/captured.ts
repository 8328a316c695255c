import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readRanks } from './job.js';
import { isRunOf } from './run-id.js';

export interface Captured {
  /** Ranks of this run that have started measuring. */
  readonly ranks: number;
  /** Whether there is anything to diagnose. */
  readonly hasRecords: boolean;
}

/** What a run has left behind. */
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

const LOOK_AT_BYTES = 65_536;

/** A header alone is no record. */
async function hasRecord(path: string): Promise<boolean> {
  const file = await open(path).catch(() => null);
  if (!file) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOOK_AT_BYTES), 0, LOOK_AT_BYTES, 0);
    return buffer.toString('latin1', 0, bytesRead).includes('"duration_ms"');
  } finally {
    await file.close();
  }
}

/** Why there may be nothing, and what works in any case. */
export function explainNothing(captured: Captured, out: string): string {
  const reasons = captured.ranks === 0 ? UNSEEN : TOO_SHORT;
  const what =
    captured.ranks === 0
      ? 'nothing was captured: no process of this command finished a training step that we saw.'
      : `no step was recorded, although ${captured.ranks === 1 ? 'one process' : `${captured.ranks} processes`} took part.`;
  return [
    `${what} It may be that`,
    ...reasons.map((reason) => `  - ${reason}`),
    'In the training loop three lines always work:',
    '    import whyslow_capture',
    `    with whyslow_capture.capture(${JSON.stringify(out)}) as cap:`,
    '        ...  # the loop, with cap.step() at the end of each step',
  ].join('\n');
}

const UNSEEN = [
  'no Python process imported torch',
  'no optimizer of torch.optim made a step, which tells where steps end',
  'Python ran with -I, -E or -S, or the command sets PYTHONPATH itself',
  'the work ran in a container or on a machine that does not inherit this environment',
  'WHYSLOW_ENABLED is off, or its configuration leaves these ranks out',
];
const TOO_SHORT = [
  'it ended before the first recorded step (--every 1 records all, --start-step is the first)',
  'the disk was full or OUT could not be written (warnings above would say so)',
];
