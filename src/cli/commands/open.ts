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

The page is served on 127.0.0.1 only, at an address with a random token. Nothing
is uploaded. Ctrl-C ends it.`;

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
      const opened = paths.length > 0 ? await openPaths(paths, options, context) : null;
      const served = await serve(shownRun(opened, options.title), options.port ?? 0);
      if (opened) context.stdout.line(opened.page.report.verdict.sentence);
      context.stdout.line(served.url);
      say(context, 'Ctrl-C ends it');
      if (options.open) showInBrowser(served.url);
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
      await served.close();
    });
}

async function openPaths(paths: readonly string[], options: OpenFlags, context: CommandContext) {
  const { openRun } = await import('../../library/open-run.js');
  const progress = progressOn(context);
  const { steps = null, ranks = null, run = null, jobs, title = null, price } = options;
  return openRun(paths, title, { steps, ranks, run, progress, jobs, price }).finally(() => progress.end());
}
