import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { leaveNothing } from '../base/leave-nothing.js';
import type { Problem } from '../base/problem.js';
import { openDatabase, type QueryRows, tablesIn } from '../tables/sql.js';
import { hasTables } from '../tables/table-files.js';
import { type ExportOptions, exportTables } from './export.js';

export type { QueryColumn, QueryRow, QueryRows } from '../tables/sql.js';

export interface QueryOptions extends Omit<ExportOptions, 'out' | 'force' | 'tables'> {
  /** Ends the query. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a query over the tables of a run, or of a folder that `exportTables` wrote. `use` takes the rows as they come. The
 * tables of a run go to a temporary folder (TMPDIR), which is gone afterwards.
 */
export async function queryTables(
  path: string,
  query: string,
  { signal, ...options }: QueryOptions,
  use: (rows: QueryRows) => Promise<void>,
  onProblems: (problems: readonly Problem[]) => void = () => {},
): Promise<void> {
  const database = await openDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-sql-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const finished = leaveNothing(remove);
  const interrupt = () => database.interrupt();
  signal?.addEventListener('abort', interrupt);
  try {
    const isExported = hasTables(path);
    if (!isExported) {
      const { problems } = await exportTables(path, { ...options, out: folder, tables: tablesIn(query) });
      onProblems(problems);
    }
    // DuckDB follows links before it looks whether a path is allowed.
    await database.attach(realpathSync(isExported ? path : folder), join(folder, 'spilled'));
    await use(await database.query(query));
  } finally {
    signal?.removeEventListener('abort', interrupt);
    database.close();
    finished();
    remove();
  }
}
