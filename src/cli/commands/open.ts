import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Command } from 'commander';
import type { StepRange } from '../../library/vocabulary.js';
import { jobCount, PATHS, rankList, stepRange, wholeNumber } from '../common/arguments.js';
import { type CommandContext, say } from '../common/context.js';
import { progressOn } from '../common/progress.js';

interface OpenFlags {
  readonly open: boolean;
  readonly port?: number;
  readonly title?: string;
  readonly steps?: StepRange;
  readonly ranks?: readonly number[];
  readonly run?: string;
  readonly jobs?: number;
}

const EXAMPLES = `
Examples:
  $ whyslow open runs/llama
  $ whyslow open trace.json.gz --no-open --port 8123

The page is served on 127.0.0.1 only, at an address with a random token. Nothing
is uploaded. Ctrl-C ends it.`;

export function registerOpen(program: Command, context: CommandContext): void {
  program
    .command('open')
    .description('show the diagnosis and the whole timeline in the browser, from a local server')
    .argument('<path...>', PATHS)
    .option('--no-open', 'print the address and start no browser')
    .option('--port <n>', 'listen on this port (default: a free one)', wholeNumber(1, 65_535))
    .option('--title <text>', 'title of the page')
    .option('--steps <range>', 'diagnose only these steps: 3-6, 3-, -6 or 3', stepRange)
    .option('--ranks <list>', 'show only these ranks, e.g. 0,2-5', rankList)
    .option('--run <id>', 'use only this run, if the files are of several (default: the newest)')
    .option('--jobs <n>', 'files to read at once (default: one per core)', jobCount)
    .addHelpText('after', EXAMPLES)
    .action(async (paths: string[], options: OpenFlags) => {
      const [{ openRun }, { serve }] = await Promise.all([
        import('../../library/open-run.js'),
        import('../../server/serve.js'),
      ]);
      const progress = progressOn(context);
      const { steps = null, ranks = null, run = null, jobs } = options;
      const opened = await openRun(paths, options.title ?? null, {
        steps,
        ranks,
        run,
        progress,
        jobs,
      }).finally(() => progress.end());
      const served = await serve(opened, options.port ?? 0);
      context.stdout.line(opened.page.report.verdict.sentence);
      context.stdout.line(served.url);
      say(context, 'Ctrl-C ends it');
      if (options.open) showInBrowser(served.url);
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
      await served.close();
    });
}

/** Without a browser the user still has the address. */
function showInBrowser(url: string): void {
  const [program, ...words] =
    process.platform === 'darwin'
      ? ['open', url]
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', url]
        : ['xdg-open', url];
  const child = spawn(program!, words, { detached: true, stdio: 'ignore' });
  child.on('error', () => {});
  child.unref();
}
