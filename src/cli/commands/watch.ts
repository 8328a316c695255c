import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { InputError } from '../../base/input-error.js';
import { formatTime, formatWhole, ms } from '../../base/units.js';
import { readRanks } from '../../launch/job.js';
import { renderJson } from '../../render/json.js';
import { incidentLine } from '../../render/terminal/incidents.js';
import { renderWatch } from '../../render/terminal/watch.js';
import { RunWatcher } from '../../watch/run-watcher.js';
import type { Incident, WatchedRun } from '../../watch/watched-run.js';
import { percentage } from '../common/arguments.js';
import { type CommandContext, say } from '../common/output.js';
import { Screen } from '../common/screen.js';
import { DeepWindows } from '../watch/deep-windows.js';
import { Outlets } from '../watch/outlets.js';
import { addWatchFlags, type WatchFlags } from '../watch/watch-flags.js';

interface Flags extends WatchFlags {
  readonly once?: true;
  readonly json?: true;
  readonly maxOverhead?: number;
  readonly untilStdinEnds?: true;
}

const EXAMPLES = `
Examples:
  $ whyslow watch runs/a
  $ whyslow watch runs/a --once
  $ whyslow watch runs/a > watch.log &
  $ whyslow watch runs/a --notify https://hooks.slack.com/services/… --metrics 9099

OUT is the directory of a job that \`whyslow run\` or whyslow_capture measures. It
works on any machine that sees the directory, during the job and afterwards.
Lasting changes go to OUT/incidents.jsonl. Over the whole run, the chance of any
false alarm is at most 1%.

They are sent nowhere unless you ask for it: --metrics, --notify, --on-incident.
Each incident is sent once, at most 20 in an hour, and a receiver that does not
answer holds up nothing.`;

/** As capture has it. */
const DEFAULT_OVERHEAD = 0.005;
/** Between looks. Ranks write about once per second at most. */
const EVERY_MS = 1000;
/** Whether processes still run is looked up this often: it means reading a file per rank. */
const ALIVE_MS = 15_000;

export function registerWatch(program: Command, context: CommandContext): void {
  const command = program
    .command('watch')
    .description('follow a running job and report when, where and why it gets slower')
    .argument('<out>', 'directory of the job')
    .option('--once', 'look at all there is now, print it and end')
    .option('--json', 'with --once: print JSON')
    .option(
      '--windows',
      'when a rank gets slower, record a profiler window of it and of another (at most 4 a day)',
    )
    .option('--max-overhead <share>', 'limit for the cost of these windows (default: 0.5%)', percentage)
    .addOption(new Option('--until-stdin-ends', 'for whyslow run').hideHelp());
  addWatchFlags(command)
    .addHelpText('after', EXAMPLES)
    .action((out: string, flags: Flags) => watch(out, flags, context));
}

async function watch(out: string, flags: Flags, context: CommandContext): Promise<void> {
  if (!existsSync(out)) throw new InputError(`${out} does not exist`);
  if (flags.json && !flags.once) throw new InputError('--json needs --once');
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Some containers do not allow it.
  }
  if (flags.once) await lookOnce(out, flags, context);
  else await follow(out, flags, context);
}

async function lookOnce(out: string, { json, ...flags }: Flags, context: CommandContext): Promise<void> {
  const outlets = await Outlets.open(out, flags);
  const watcher = await RunWatcher.open(out, {
    price: flags.price,
    onIncident: (incident) => outlets.incident(incident),
  });
  await watcher.finish();
  const state = watcher.state();
  outlets.state(state);
  await outlets.close();
  await mustHaveSteps(state);
  if (json) context.stdout.writeJson(renderJson(asJson(state)));
  else context.stdout.write(screenOf(state, context));
}

async function mustHaveSteps({ out, step }: WatchedRun): Promise<void> {
  if (step !== null) return;
  const ranks = await readRanks(out);
  throw new InputError(
    ranks.length === 0
      ? `${out} is not the directory of a measured job. Pass the directory that \`whyslow run\` prints`
      : `no rank has recorded a step in ${out} so far`,
  );
}

async function follow(out: string, flags: Flags, context: CommandContext): Promise<void> {
  const outlets = await Outlets.open(out, flags);
  const screen = Screen.on(context.stdout);
  const windows = flags.windows
    ? new DeepWindows(out, flags.maxOverhead ?? DEFAULT_OVERHEAD, ({ id, evidence, traces }) =>
        watcher.amend(id, evidence, traces),
      )
    : null;
  const printed = new Map<string, string>();
  /** Of a new version only what is new. */
  const printIncident = (incident: Incident) => {
    const line = incidentLine(incident);
    const isKnown = printed.get(incident.id) === line;
    printed.set(incident.id, line);
    context.stdout.line(isKnown ? `about ${incident.id}: ${incident.evidence.at(-1) ?? ''}` : line);
  };
  const watcher: RunWatcher = await RunWatcher.open(out, {
    price: flags.price,
    onIncident: (incident) => {
      if (!screen) printIncident(incident);
      outlets.incident(incident);
      windows?.incident(
        incident,
        watcher.state().ranks.map((r) => r.rank),
      );
    },
  });
  const stop = new AbortController();
  const end = () => stop.abort();
  process.once('SIGINT', end).once('SIGTERM', end);
  screen?.onQuit(end);
  // `whyslow run` closes it when the job has ended, and so does its own end.
  let isOver = false;
  const over = () => {
    isOver = true;
    end();
  };
  if (flags.untilStdinEnds) process.stdin.on('end', over).on('error', over).resume();
  else if (!screen) context.stdout.line(`watching ${out}; Ctrl-C ends it`);
  let hasEnded = false;
  try {
    hasEnded = await lookUntilEnd(watcher, stop.signal, () => {
      screen?.show(`${screenOf(watcher.state(), context)}\nq quits\n`);
      outlets.state(watcher.state());
    });
    if (hasEnded || isOver) await watcher.finish();
  } finally {
    screen?.close();
    outlets.state(watcher.state());
    await outlets.close();
    process.off('SIGINT', end).off('SIGTERM', end);
  }
  const state = watcher.state();
  if (screen) context.stdout.write(screenOf(state, context));
  const { step, usualMs } = state;
  if (hasEnded && !flags.untilStdinEnds)
    say(
      context,
      `the job has ended${step === null ? '' : ` at step ${formatWhole(step)}`}${usualMs === null ? '' : `, ${formatTime(ms(usualMs))} per step`}`,
    );
}

/** True: the job has ended. False: the user has. */
async function lookUntilEnd(watcher: RunWatcher, stopped: AbortSignal, show: () => void): Promise<boolean> {
  let asked = Number.NEGATIVE_INFINITY;
  while (!stopped.aborted) {
    const more = await watcher.look();
    show();
    if (more) continue;
    if (performance.now() - asked > ALIVE_MS) {
      asked = performance.now();
      if (watcher.state().isThere && watcher.state().step !== null && !(await watcher.mayBeRunning()))
        return true;
    }
    await sleep(EVERY_MS, null, { signal: stopped }).catch(() => {});
  }
  return false;
}

const screenOf = (state: WatchedRun, { stdout }: CommandContext): string =>
  renderWatch(state, {
    color: stdout.color,
    columns: stdout.columns,
    rows: stdout.rows,
    now: Date.now(),
  });

const asJson = ({ step, time, usualMs, falseAlarm, job, ranks, incidents }: WatchedRun) => ({
  schema: 'whyslow/watch/1',
  step,
  time: time === null ? null : new Date(time).toISOString(),
  usual_ms: usualMs,
  false_alarm: falseAlarm,
  ranks: ranks.map((r) => r.rank),
  pace: job.map(({ first, last, steps, ms: took, outsideMs }) => ({
    first,
    last,
    step_ms: took / steps,
    outside_ms: outsideMs / steps,
  })),
  incidents,
});
