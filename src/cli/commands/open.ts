import { once } from 'node:events';
import type { Command } from 'commander';
import type { StepRange } from '../../library/vocabulary.js';
import { jobCount, PATHS, price, rankList, stepRange, wholeNumber } from '../common/arguments.js';
import { type CommandContext, say } from '../common/output.js';
import { progressOn } from '../common/progress.js';
import { showInBrowser } from '../common/show-in-browser.js';

interface OpenFlags {
  readonly open: boolean;
  readonly port?: number;
  readonly title?: string;
  readonly steps?: StepRange;
  readonly ranks?: readonly number[];
  readonly run?: string;
  readonly jobs?: number;
  readonly price?: number;
}

const EXAMPLES = `
Examples:
  $ whyslow open runs/llama
  $ whyslow open trace.json.gz --no-open --port 8123
  $ whyslow open

The page of a job that still runs follows it. It is served on 127.0.0.1 only, at
an address with a random token. Nothing is uploaded. Ctrl-C ends it.`;

export function registerOpen(program: Command, context: CommandContext): void {
  program
    .command('open')
    .description('show the diagnosis and the timeline in the browser')
    .argument('[path...]', `${PATHS}; none: drop a trace onto the page`)
    .option('--no-open', 'print the address and start no browser')
    .option('--port <n>', 'listen on this port (default: a free one)', wholeNumber(1, 65_535))
    .option('--title <text>', 'title of the page')
    .option('--steps <range>', 'diagnose only these steps: 3-6, 3-, -6 or 3', stepRange)
    .option('--ranks <list>', 'show only these ranks, e.g. 0,2-5', rankList)
    .option('--run <id>', 'use only this run, if the files are of several (default: the newest)')
    .option('--jobs <n>', 'files to read at once (default: one per core)', jobCount)
    .option(
      '--price <amount>',
      'price of one GPU-hour, e.g. 2.50: shows what the bottleneck and each fix are worth',
      price,
    )
    .addHelpText('after', EXAMPLES)
    .action(async (paths: string[], options: OpenFlags) => {
      const [{ serve }, { shownRun }] = await Promise.all([
        import('../../server/serve.js'),
        import('../../server/routes.js'),
      ]);
      const folder = await runningJob(paths, options);
      const live = folder === null ? null : await followed(folder, options);
      const opened = live || paths.length === 0 ? null : await openPaths(paths, options, context);
      const served = await serve(live ?? shownRun(opened, options.title), options.port ?? 0);
      const run = live ? live.run : opened;
      if (run) context.stdout.line(run.page.report.verdict.sentence);
      context.stdout.line(served.url);
      say(context, live ? 'the job still runs, and the page follows it; Ctrl-C ends it' : 'Ctrl-C ends it');
      if (options.open) showInBrowser(served.url);
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
      live?.stop();
      await served.close();
    });
}

/** Ranks write their file every 20 s. A shared file system may be slow, and clocks of machines differ. */
const RECENT_MS = 300_000;
const LOOK_MS = 10_000;

/** The directory of a job that still writes; null: there is none, or only a part of it is to be shown. */
async function runningJob([folder, ...more]: readonly string[], options: OpenFlags): Promise<string | null> {
  const isPart = options.steps || options.ranks || options.run;
  return folder !== undefined && more.length === 0 && !isPart && (await isRunning(folder)) ? folder : null;
}

async function isRunning(folder: string): Promise<boolean> {
  const { readRanks } = await import('../../launch/job.js');
  return (await readRanks(folder)).some((r) => !r.ended && Math.abs(Date.now() - r.writtenMs) < RECENT_MS);
}

/** The page of a job until it ends, as `whyslow run --open` has it. */
async function followed(folder: string, { title, price }: OpenFlags) {
  const [{ LiveRun }, { openRun }] = await Promise.all([
    import('../../server/live-run.js'),
    import('../../library/open-run.js'),
  ]);
  const live = new LiveRun(folder, title ?? null, openRun, price);
  await live.look();
  live.start();
  const looking = setInterval(async () => {
    if (await isRunning(folder)) return;
    clearInterval(looking);
    await live.end();
  }, LOOK_MS).unref();
  return live;
}

async function openPaths(paths: readonly string[], options: OpenFlags, context: CommandContext) {
  const { openRun } = await import('../../library/open-run.js');
  const progress = progressOn(context);
  const { steps = null, ranks = null, run = null, jobs, title = null, price } = options;
  return openRun(paths, title, { steps, ranks, run, progress, jobs, price }).finally(() => progress.end());
}
