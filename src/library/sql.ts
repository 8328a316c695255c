import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type QueryRows, tablesIn } from '../tables/sql.js';
import { hasTables } from '../tables/table-files.js';
import { type ExportOptions, exportTables } from './export.js';

export type { QueryColumn, QueryRow, QueryRows } from '../tables/sql.js';

/**
 * Runs a query over the tables of a run, or of a folder that `exportTables` wrote. `use` takes the rows as they come. The
 * tables of a run go to a temporary folder (TMPDIR), which is gone afterwards.
 */
export async function queryTables(
  path: string,
  query: string,
  options: Omit<ExportOptions, 'out' | 'force' | 'tables'>,
  use: (rows: QueryRows) => Promise<void>,
): Promise<void> {
  const database = await openDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-sql-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const stop = () => process.exit(130); // runs `remove`
  process.once('exit', remove).once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const isExported = hasTables(path);
    if (!isExported) await exportTables(path, { ...options, out: folder, tables: tablesIn(query) });
    // DuckDB follows links before it looks whether a path is allowed.
    await database.attach(realpathSync(isExported ? path : folder), join(folder, 'spilled'));
    await use(await database.query(query));
  } finally {
    database.close();
    process.off('exit', remove).off('SIGINT', stop).off('SIGTERM', stop);
    remove();
  }
}
