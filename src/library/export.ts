import type { Problem } from '../base/problem.js';
import { buildReport } from '../report/build-report.js';
import { RULES } from '../rules/rules.js';
import { runRules } from '../rules/run-rules.js';
import type { TableName } from '../tables/schema.js';
import { TableFiles } from '../tables/table-files.js';
import { writeTables } from '../tables/write-tables.js';
import { type RunSelection, readDiagnosis } from './diagnose.js';

export interface ExportOptions extends RunSelection {
  /** Folder for the files. */
  readonly out: string;
  /** Replace tables that are there. */
  readonly force?: boolean;
  /** Tables to fill. The others get their columns and no rows. Default: all. */
  readonly tables?: readonly TableName[];
}

export interface ExportedTables {
  /** Rows by table. */
  readonly rows: Readonly<Record<TableName, number>>;
  readonly problems: readonly Problem[];
}

/** Writes a run as Parquet files. Throws InputError when there is nothing to read or the files exist. */
export async function exportTables(
  paths: string | readonly string[],
  { out, force = false, tables, ...reading }: ExportOptions,
): Promise<ExportedTables> {
  const files = new TableFiles(out, force);
  try {
    const diagnosis = await readDiagnosis(paths, reading);
    const { findings } = buildReport(diagnosis, runRules(RULES, diagnosis.facts));
    const wanted = new Map([...files.tables].filter(([name]) => tables?.includes(name) ?? true));
    const problems = await writeTables(wanted, diagnosis, findings, reading.progress);
    problems.addAll(diagnosis.inputs.problems);
    return { rows: files.finish(), problems: problems.list() };
  } catch (error) {
    files.abandon();
    throw error;
  }
}
