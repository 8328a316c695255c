import { spawn } from 'node:child_process';
import { mkdir, open, readdir, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { notStarted } from '../launch/child.js';
import { type Environment, jobEnvironment } from '../launch/environment.js';
import type { Change } from './change.js';
import { endProcesses } from './end-processes.js';
import { type Protection, protectedCommand } from './protect/protection.js';
import { namespaceOf, removeTree, type Written, writtenTo } from './protect/written.js';
import { type RankResult, RESULT_NAME, readResults } from './rank-result.js';

/** Launchers prefix the lines of ranks. */
const PREFIX = /^(?:\[rank\d+\]:\s?|\[default\d+\]:\s?)/;
const ERROR = /^(?:[\w.]+\.)?\w*(?:Error|Exception|Interrupt|Exit|Failed)\b(?::.*)?$/;
/** Of launchers: they say that a rank has failed, not why. */
const ABOUT_RANKS = /ChildFailedError|ProcessRaisedException|CalledProcessError/;
const MAX_LENGTH = 200;

/** The first error of the last traceback in a job's output that says why it failed. Null: it says nothing. */
export function failureIn(text: string): string | null {
  const lines = text
    .split(/\r?\n|\r/)
    .map((line) => line.replace(PREFIX, '').trimEnd())
    .filter((line) => line.trim() !== '');
  const errors = lines.filter((line) => ERROR.test(line));
  const found = errors.findLast((line) => !ABOUT_RANKS.test(line)) ?? errors.at(-1) ?? lines.at(-1);
  return found ? found.trim().slice(0, MAX_LENGTH) : null;
}

export interface TurnSettings {
  readonly command: readonly string[];
  readonly env: Environment;
  readonly protection: Protection;
  /** For this turn alone. Removed afterwards. */
  readonly folder: string;
  /** None: the job as it is. */
  readonly fixes: readonly Change[];
  readonly steps: number;
  readonly warmup: number;
  /** Of steps; the job's set-up is not counted. */
  readonly seconds: number | null;
  /** The turn is ended after so many seconds. */
  readonly limit: number;
  /** Record into this folder, as `whyslow run` does. */
  readonly record: { readonly out: string; readonly run: string } | null;
  /** Where the output goes if there is no measurement. */
  readonly keepLog: string;
  readonly abort: AbortSignal;
}

export interface TurnEnd {
  readonly kind: 'measured' | 'crashed' | 'timed-out' | 'no-steps' | 'interrupted';
  readonly ranks: readonly RankResult[];
  /** Why there is no measurement. */
  readonly reason: string | null;
  readonly seconds: number;
  readonly wrote: Written;
}

/** Once the ranks have written their results, a launcher that goes on is ended after this time. */
const LINGER_MS = 20_000;
const POLL_MS = 100;
/** Fewer steps than these are no measurement. */
const LEAST_STEPS = 3;

/** One run of the command: as it is, or with fixes applied from outside. Its processes have ended when this returns. */
export async function runTurn(settings: TurnSettings): Promise<TurnEnd> {
  const { folder, record } = settings;
  const [results, layers] = [join(folder, 'results'), join(folder, 'layers')];
  await mkdir(results, { recursive: true });
  const spec = join(folder, 'trial.json');
  const writable = [folder, ...(record ? [record.out] : [])];
  await writeFile(spec, JSON.stringify(specOf(settings, results, writable)));
  const command = protectedCommand(settings.protection, settings.command, { layers, writable });
  const log = await open(join(folder, 'log'), 'w');
  const started = performance.now();
  try {
    const child = spawn(command[0]!, command.slice(1), {
      // A session of its own, so that it can be ended with all its children, and Ctrl-C reaches us alone.
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: environmentOf(settings, spec),
    });
    const ended = new Promise<ChildEnd>((resolve) => {
      child.once('error', (error) =>
        resolve({ code: null, failure: notStarted(error, command[0]!).failure }),
      );
      child.once('exit', (code) => resolve({ code, failure: null }));
    });
    const { code, failure, cut } = await watch(ended, results, settings);
    if (child.pid !== undefined) {
      const namespace = await namespaceOf(layers);
      await endProcesses({ leader: child.pid, mark: `WHYSLOW_TRIAL=${spec}`, namespace }, cut !== null);
    }
    const seconds = (performance.now() - started) / 1000;
    const ranks = await readResults(results);
    const text = (await readTail(join(folder, 'log'))) ?? '';
    const wrote = await writtenTo(layers);
    const isFull = await hasNoRoom(folder);
    const judged = judge(ranks, { code, cut, failure: isFull ? FULL : failure, text, limit: settings.limit });
    if (judged.kind !== 'measured') await writeFile(settings.keepLog, text).catch(() => {});
    return { ...judged, ranks, seconds, wrote };
  } finally {
    await log.close();
    await removeTree(folder);
  }
}

const FULL = 'the job filled the disk of the scratch folder (--scratch chooses another)';
const LEAST_BYTES = 64 * 1024;

async function hasNoRoom(folder: string): Promise<boolean> {
  const disk = await statfs(folder).catch(() => null);
  return disk !== null && disk.bavail * disk.bsize < LEAST_BYTES;
}

function specOf(settings: TurnSettings, results: string, writable: readonly string[]) {
  const { fixes, steps, warmup, seconds, record, protection } = settings;
  const named = fixes.map(({ fix, value }) => ({ name: fix, ...(value === null ? {} : { value }) }));
  const denies = protection.how === 'landlock' ? { writable: [...writable, ...SYSTEM] } : {};
  return { results, fixes: named, steps, warmup, seconds, capture: record !== null, ...denies };
}

/** Devices, shared memory and the kernel's own. */
const SYSTEM = ['/dev', '/proc'];

function environmentOf(settings: TurnSettings, spec: string): Record<string, string | undefined> {
  const { command, env, record, folder } = settings;
  const given = { out: record?.out ?? folder, run: record?.run ?? 'trial', command, settings: {} };
  return {
    ...jobEnvironment(env, given),
    WHYSLOW_TRIAL: spec,
    // The order of sets of strings would differ between turns.
    PYTHONHASHSEED: env.PYTHONHASHSEED ?? '0',
  };
}

interface ChildEnd {
  readonly code: number | null;
  readonly failure: string | null;
}
/** Why we ended it. Null: it has ended by itself. */
type Cut = 'limit' | 'abort' | 'done' | null;

async function watch(
  ended: Promise<ChildEnd>,
  results: string,
  { limit, abort }: TurnSettings,
): Promise<ChildEnd & { readonly cut: Cut }> {
  let over = false;
  const waiting = ended.then((end) => {
    over = true;
    return { ...end, cut: null };
  });
  const deadline = Date.now() + limit * 1000;
  let complete = Number.POSITIVE_INFINITY;
  while (!over) {
    await Promise.race([waiting, sleep(POLL_MS)]);
    const none = { code: null, failure: null };
    if (over) break;
    if (abort.aborted) return { ...none, cut: 'abort' };
    if (Date.now() > deadline) return { ...none, cut: 'limit' };
    if (complete === Number.POSITIVE_INFINITY && (await hasAnyResult(results))) complete = Date.now();
    if (Date.now() - complete > LINGER_MS) return { ...none, cut: 'done' };
  }
  return waiting;
}

const hasAnyResult = async (results: string) =>
  (await readdir(results).catch(() => [])).some((name) => RESULT_NAME.test(name));

interface Circumstances extends ChildEnd {
  readonly cut: Cut;
  readonly text: string;
  readonly limit: number;
}

function judge(
  ranks: readonly RankResult[],
  { code, cut, failure, text, limit }: Circumstances,
): Pick<TurnEnd, 'kind' | 'reason'> {
  if (cut === 'abort') return { kind: 'interrupted', reason: 'interrupted' };
  const first = ranks[0];
  const isWhole = first !== undefined && (first.why !== 'end' || code === 0);
  if (isWhole && first.stepMs.length >= LEAST_STEPS) return { kind: 'measured', reason: null };
  if (cut === 'limit') return { kind: 'timed-out', reason: `took longer than ${Math.round(limit)} s` };
  if (failure !== null) return { kind: 'crashed', reason: failure };
  if (code !== 0) return { kind: 'crashed', reason: failureIn(text) ?? `exit code ${code}` };
  const reason = first
    ? `the job ended after ${first.losses.length} steps, within the warm-up`
    : 'no training step was seen in any process of the command';
  return { kind: 'no-steps', reason };
}

const TAIL_BYTES = 64 * 1024;

async function readTail(path: string): Promise<string | null> {
  const file = await open(path, 'r').catch(() => null);
  if (!file) return null;
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
