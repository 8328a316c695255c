import * as z from 'zod';
import { printable } from '../../base/printable.js';
import { chosenRules } from '../../library/rules.js';
import { type QueryColumn, type QueryRow, queryTables } from '../../library/sql.js';
import type { Problem } from '../../library/vocabulary.js';
import { whatRan } from '../../library/what-ran.js';
import { briefWhatRan } from '../../render/brief/what-ran.js';
import { rowFormat } from '../../render/terminal/rows.js';
import { renderRule, renderRuleList } from '../../render/terminal/rules.js';
import { shorten } from '../../render/terminal/text.js';
import { allowedPaths, PATHS, SELECTION, selectionOf, tool } from '../kit/tool.js';

const MS = z.number().min(0).max(1e12).optional();

export const timelineTool = tool({
  name: 'timeline',
  title: 'What ran, on a rank, in a range',
  description:
    'What one rank did in a step or in a range of time: where the time went, device work and host calls with their totals, the longest single pieces. Default: the step of median length of the first rank. Times are ms on the run’s aligned clock, from the earliest event.',
  input: {
    ...PATHS,
    rank: z.int().min(0).max(999_999).optional(),
    step: z.int().min(0).optional().describe('a recorded step'),
    from_ms: MS.describe('instead of a step'),
    to_ms: MS,
    run: SELECTION.run,
  },
  call: async ({ paths, rank, step, from_ms, to_ms, run }, call) => {
    const where = { rank, step, from_ms, to_ms };
    const options = { ...selectionOf({ run }), ...where, progress: call.progress };
    const report = await whatRan(await allowedPaths(paths, call), options);
    return { text: briefWhatRan(report), report };
  },
});

const MOST_ROWS = 1000;
/** Of a name in the text; the object has more of it. */
const MOST_CELL = 200;

/** A line break in a name would make a line of its own. */
const shownCell = (cell: unknown): unknown =>
  typeof cell === 'string' ? printable(shorten(cell, MOST_CELL)) : cell;

export const sqlTool = tool({
  name: 'sql',
  title: 'Query a run',
  description:
    'One SELECT, as DuckDB reads it, over the tables steps, kernels, operators, collectives, gaps, findings of a run. "DESCRIBE kernels" lists the columns of a table. Aggregate in the query: few rows come back.',
  input: {
    path: z.string().min(1).max(4096).describe('a run, or a folder that `whyslow export` wrote'),
    query: z.string().min(1).max(20_000),
    rows: z.int().min(1).max(MOST_ROWS).default(50).describe('at most so many rows'),
    ranks: SELECTION.ranks,
    run: SELECTION.run,
  },
  call: async ({ path, query, rows: most, ranks, run }, call) => {
    const kept: QueryRow[] = [];
    let columns: readonly QueryColumn[] = [];
    let hasMore = false;
    let problems: readonly Problem[] = [];
    await queryTables(
      await call.roots.allowed(path),
      query,
      { ...selectionOf({ ranks, run }), progress: call.progress, signal: call.signal },
      async (result) => {
        columns = result.columns;
        for await (const chunk of result.chunks) {
          for (const row of chunk) {
            hasMore = kept.length === most;
            if (hasMore) break;
            kept.push(row);
          }
          if (hasMore) break;
        }
      },
      (found) => {
        problems = found;
      },
    );
    const table = rowFormat('csv', columns);
    const text = `${table.head()}${table.rows(kept.map((row) => row.map(shownCell)))}${table.tail()}`;
    const note = hasMore ? `the first ${kept.length} rows; there are more` : `${kept.length} rows`;
    return {
      text: `${text.trimEnd()}\n${note}`,
      report: { schema: 'whyslow/sql/1', columns, rows: kept, has_more: hasMore, problems },
    };
  },
});

export const rulesTool = tool({
  name: 'rules',
  title: 'What whyslow looks for',
  description:
    'The knowledge base: each rule with what it needs, what it looks for, why it matters, the fix, its cost and risk, and how to check that training is still right. Without `rule`: a list of all.',
  ownWords: true,
  input: { rule: z.string().max(100).optional().describe('by name or number: num-workers-zero, T4') },
  call: async ({ rule }) => {
    const chosen = chosenRules(rule);
    const page = { color: false, columns: 100 } as const;
    if (rule !== undefined)
      return {
        text: chosen.map((r) => renderRule(r, page)).join('\n'),
        report: { schema: 'whyslow/rules/1', rules: chosen },
      };
    const short = chosen.map(({ id, alias, title, cost, needs }) => ({ id, alias, title, cost, needs }));
    return { text: renderRuleList(chosen, page), report: { schema: 'whyslow/rules/1', rules: short } };
  },
});
