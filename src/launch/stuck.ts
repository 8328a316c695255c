import { readlinkSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type MachineFiles, runCommand } from '../machine/files.js';
import { findPySpy } from '../machine/stacks.js';
import type { Environment } from './environment.js';
import { processExists, type RankStatus, readRanks } from './job.js';

/** What ranks wrote about themselves when no step had ended for a long time (whyslow_capture/stuck.py). */
const WRITTEN = /^stacks_rank_(\d{1,7})\.txt$/;
const LOOK_MS = 5_000;
/** Ranks notice it one after the other: each counts from its own last step. */
const OTHERS_MS = 6_000;
/** How long the rest of a job may take to fail. */
const FAILING_MS = 30_000;
const DUMP_SECONDS = 20;
const MAX_DUMPS = 64;

interface Watch {
  stop(): void;
}

/**
 * Waits until ranks write that no step ends, then takes the stacks of those that cannot: they are stopped, or an extension holds
 * their interpreter. py-spy looks without a pause, so nothing happens to the job. Tells once. Never fails.
 */
export function watchForStuck(
  out: string,
  env: Environment,
  tell: (folder: string) => Promise<void>,
  [lookMs, othersMs, failingMs]: readonly [number, number, number] = [LOOK_MS, OTHERS_MS, FAILING_MS],
): Watch {
  const ended = new AbortController();
  const folder = join(out, 'stuck');
  const watch = async () => {
    const pause = (ms: number) => sleep(ms, null, { signal: ended.signal, ref: false });
    do await pause(lookMs);
    while ((await written(folder)).size === 0);
    await pause(othersMs);
    // Others fail one after the other once a rank has ended. Then the end of the job shows better who was first.
    if (await hasLost(out)) await pause(failingMs);
    // A step may have ended after all.
    if ((await written(folder)).size === 0) return;
    await lookAtOthers(out, folder, env);
    await tell(folder);
  };
  void watch().catch(() => {});
  return { stop: () => ended.abort() };
}

async function written(folder: string): Promise<ReadonlySet<number>> {
  const names = await readdir(folder).catch(() => []);
  return new Set(
    names.flatMap((name) => Number(WRITTEN.exec(name)?.[1] ?? Number.NaN)).filter(Number.isInteger),
  );
}

/** Takes the stacks of the other ranks on this machine. */
async function lookAtOthers(out: string, folder: string, env: Environment): Promise<void> {
  const own = await written(folder);
  const others = (await readRanks(out))
    .filter((r) => !own.has(r.rank) && !r.ended && r.host === hostname() && Number.isInteger(r.pid))
    .slice(0, MAX_DUMPS);
  const pids = others.map((r) => r.pid);
  const program = findPySpy(await filesOf(others), pids, env);
  for (const one of others) await dump(program, one, folder);
}

/** Writes what py-spy sees. Without it, that the rank did not answer. */
async function dump(program: string | null, { rank, pid }: RankStatus, folder: string): Promise<void> {
  const said =
    program && (await runCommand(program, ['dump', '--nonblocking', '--pid', `${pid}`], DUMP_SECONDS));
  const stacks = said && said.code === 0 && said.stdout.startsWith('Process ') ? said.stdout : '';
  const end = stacks.indexOf('\n') + 1;
  const head = stacks.slice(0, end) || `Process ${pid}: \n`;
  const state = (await isStopped(pid)) ? 'State: stopped\n' : stacks === '' ? 'State: silent\n' : '';
  const path = join(folder, `stacks_rank_${rank}.txt`);
  await mkdir(folder, { recursive: true });
  await writeFile(`${path}.new`, head + state + stacks.slice(end));
  await rename(`${path}.new`, path);
}

/** A rank of this machine has ended. */
async function hasLost(out: string): Promise<boolean> {
  const ranks = (await readRanks(out)).filter((r) => r.host === hostname() && Number.isInteger(r.pid));
  return ranks.some((r) => r.ended || !processExists(r.pid));
}

async function isStopped(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  return /^[Tt]/.test(stat.slice(stat.lastIndexOf(')') + 2));
}

/** Read beforehand and not at once: a process that hangs in the kernel may not answer. */
async function filesOf(ranks: readonly RankStatus[]): Promise<MachineFiles> {
  const read = async ({ pid }: RankStatus) => {
    const path = `/proc/${pid}/cmdline`;
    return [path, await readFile(path, 'utf8').catch(() => null)] as const;
  };
  const texts = new Map(await Promise.all(ranks.map(read)));
  const link = (path: string) => {
    try {
      return readlinkSync(path);
    } catch {
      return null;
    }
  };
  return { read: (path) => texts.get(path) ?? null, list: () => [], link };
}
