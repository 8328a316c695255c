import { randomBytes } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { printable } from '../base/printable.js';
import { readRanks } from './job.js';
import { isRunOf } from './run-id.js';
import { openPlainFile, readJson } from './small-file.js';

export interface Captured {
  /** Ranks of this run that started measuring. */
  readonly ranks: number;
  /** Whether there is anything to diagnose. */
  readonly hasRecords: boolean;
  /** Null: the disk was not full. Otherwise the records that ranks counted as lost; 0 if they could not even say so. */
  readonly lostToFullDisk: number | null;
  /** A process of the command that had loaded torch. Null: none was seen, or there is no telemetry. */
  readonly torchIn: string | null;
}

/** What a run has written. */
export async function whatWasCaptured(out: string, run: string): Promise<Captured> {
  const ranks = (await readRanks(out)).filter((m) => isRunOf(m.run, run)).length;
  const hasRecords =
    (await hasTraces(out)) || (await hasEvents(join(out, 'cuda_event_profiler'))) || (await ranOut(out));
  if (hasRecords) return { ranks, hasRecords, lostToFullDisk: null, torchIn: null };
  return { ranks, hasRecords, lostToFullDisk: await lostToFullDisk(out), torchIn: await torchIn(out) };
}

/** Out of memory in the first step: the snapshot is all there is. */
const ranOut = async (out: string): Promise<boolean> =>
  (await readdir(join(out, 'memory')).catch(() => [])).some((name) => /^oom_rank_\d+\.pickle$/.test(name));

/** From the samples of /proc. */
async function torchIn(out: string): Promise<string | null> {
  const folder = join(out, 'telemetry');
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith('proc-')) continue;
    const head = await headOf(join(folder, name), SAMPLES_BYTES);
    for (const line of head.split('\n')) {
      const process = line.startsWith('{"process"') ? processIn(line) : null;
      if (process?.torch === true && typeof process.command === 'string') return printable(process.command);
    }
  }
  return null;
}

function processIn(line: string): { readonly torch?: unknown; readonly command?: unknown } | null {
  try {
    return (JSON.parse(line) as { process: object | null }).process;
  } catch {
    return null;
  }
}

/** The processes of a job start within its first samples. */
const SAMPLES_BYTES = 1 << 20;

async function lostToFullDisk(out: string): Promise<number | null> {
  let lost: number | null = (await isFull(out)) ? 0 : null;
  for (const name of await readdir(join(out, 'ranks')).catch(() => [])) {
    const dropped = (await readJson(join(out, 'ranks', name)))?.dropped as
      | Record<string, unknown>
      | undefined;
    if (dropped?.['disk-full']) lost = (lost ?? 0) + (Number(dropped['records-dropped']) || 0);
  }
  return lost;
}

/** As much as one record block and its header need. */
const PROBE_BYTES = 16_384;

/** By writing: the free space of a file system does not show a quota. */
async function isFull(out: string): Promise<boolean> {
  const probe = join(out, `.probe.partial-${randomBytes(8).toString('hex')}`);
  try {
    await writeFile(probe, Buffer.alloc(PROBE_BYTES), { flag: 'wx' });
    return false;
  } catch (error) {
    return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
  } finally {
    await rm(probe, { force: true }).catch(() => {});
  }
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
const hasRecord = async (path: string): Promise<boolean> =>
  (await headOf(path, HEAD_BYTES)).includes('"duration_ms"');

/** Its whole lines. Empty: it is no plain file. */
async function headOf(path: string, most: number): Promise<string> {
  const file = await openPlainFile(path);
  if (!file) return '';
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(most), 0, most, 0);
    const text = buffer.toString('utf8', 0, bytesRead);
    return text.slice(0, text.lastIndexOf('\n') + 1);
  } finally {
    await file.close();
  }
}

/** `timeout` ends with 124, a shell adds 128 to a signal: the job may have been training for hours. */
const ENDED_FROM_OUTSIDE = 124;

/** Why nothing may have been captured, and what always works. One entry per line. `status`: of the command. */
export function explainNothing(captured: Captured, out: string, status: number): readonly string[] {
  if (captured.lostToFullDisk !== null) return [explainFullDisk(captured.lostToFullDisk, out)];
  if (captured.ranks === 0 && status > 0 && status < ENDED_FROM_OUTSIDE)
    return [
      `nothing was captured: the command failed (exit status ${status}), and no training step was seen. Its own messages are above.`,
      `  If it did train before that: ${NOT_HOOKED}.`,
    ];
  const [what, reasons] = whyNothing(captured);
  return [
    `${what}. Possible reasons:`,
    ...(status === 0 ? reasons : [failed(status), ...reasons]).map((reason) => `  - ${reason}`),
    'These lines in the training loop always work:',
    '    import whyslow_capture',
    `    with whyslow_capture.capture(${JSON.stringify(out)}) as cap:`,
    '        ...  # the loop, with cap.step() at the end of each step',
  ];
}

function whyNothing({ ranks, torchIn }: Captured): readonly [what: string, reasons: readonly string[]] {
  if (ranks > 0)
    return [`no step was recorded, although whyslow was active in ${processes(ranks)}`, NO_STEP_RECORDED];
  if (torchIn === null)
    return [
      'nothing was captured: no training step was seen in any process of this command',
      ['no Python process imported torch', NO_STEP, NOT_HOOKED, ELSEWHERE, EXCLUDED],
    ];
  return [
    `nothing was captured: “${torchIn}” loaded torch, but no training step was seen`,
    [NO_STEP, NOT_HOOKED, EXCLUDED],
  ];
}

function explainFullDisk(lost: number, out: string): string {
  const what = lost > 0 ? `${lost} records lost` : 'nothing could be written';
  return `disk full: ${what}. Free some space for ${out}, or choose another disk with --out, and run it again`;
}

const processes = (count: number) => (count === 1 ? '1 process' : `${count} processes`);

const failed = (status: number) => `the command failed before its first step (exit status ${status})`;
const NO_STEP =
  'no optimizer of torch.optim made a step and fewer than three backward passes ran, which is how steps are recognized';
const NOT_HOOKED = 'Python ran with -I, -E or -S, or the command sets PYTHONPATH itself';
const ELSEWHERE = 'the work ran in a container or on a machine that does not inherit this environment';
const EXCLUDED = 'WHYSLOW_ENABLED is off, or the configuration excludes these ranks';
const NO_STEP_RECORDED = [
  'the job ended before the first recorded step (--every 1 records all steps, --start-step sets the first)',
  'the disk was full or OUT could not be written (see the warnings above)',
];
