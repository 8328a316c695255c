import { type Command, Option } from 'commander';
import type { QueryRows } from '../../library/sql.js';
import type { Problem } from '../../library/vocabulary.js';
import { ROW_FORMATS, type RowFormatName, rowFormat } from '../../render/terminal/rows.js';
import { jobCount, rankList } from '../common/arguments.js';
import { type CommandContext, sayProblems } from '../common/output.js';
import { progressOn } from '../common/progress.js';
import { preferSmallHeap } from '../common/v8-flags.js';

interface SqlFlags {
  readonly format: RowFormatName;
  readonly ranks?: readonly number[];
  readonly run?: string;
  readonly jobs?: number;
}

const EXAMPLES = `
Examples:
  $ whyslow sql runs/llama "SELECT name, sum(duration_us) AS us FROM kernels GROUP BY name ORDER BY us DESC LIMIT 10"
  $ whyslow export runs/llama -o tables && whyslow sql tables "FROM steps" --format csv

Tables: steps, kernels, operators, collectives, gaps, findings. docs/tables.md
lists their columns and ten queries.
A folder of \`whyslow export\` answers faster: the traces are not read again.
Needs DuckDB: npm install @duckdb/node-api`;

export function registerSql(program: Command, context: CommandContext): void {
  program
    .command('sql')
    .description('query a run with SQL')
    .argument('<path>', 'a run, or a folder that `whyslow export` wrote')
    .argument('<query>', 'one SELECT, as DuckDB reads it')
    .addOption(
      new Option('--format <name>', 'how to print the rows').choices([...ROW_FORMATS]).default('table'),
    )
    .option('--ranks <list>', 'use only these ranks, e.g. 0,2-5', rankList)
    .option('--run <id>', 'use only this run, if the files are of several (default: the newest)')
    .option('--jobs <n>', 'files to read at once (default: one per core)', jobCount)
    .addHelpText('after', EXAMPLES)
    .action(async (path: string, query: string, { format, ...options }: SqlFlags) => {
      const { queryTables } = await import('../../library/sql.js');
      preferSmallHeap();
      const progress = progressOn(context);
      const { stdout } = context;
      // Other programs get the same bytes in every locale.
      const print = (text: string) => (format === 'table' ? stdout.write(text) : stdout.writeJson(text));
      const printRows = async ({ columns, chunks }: QueryRows) => {
        progress.end();
        const text = rowFormat(format, columns);
        print(text.head());
        for await (const rows of chunks) print(text.rows(rows));
        print(text.tail());
      };
      const onProblems = (problems: readonly Problem[]) => {
        progress.end();
        sayProblems(problems, context);
      };
      await queryTables(path, query, { ...options, progress }, printRows, onProblems).finally(() =>
        progress.end(),
      );
    });
}
