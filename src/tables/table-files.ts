import fs, { existsSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describeSystemError, InputError } from '../base/input-error.js';
import { leaveNothing } from '../base/leave-nothing.js';
import { makeFolders } from '../base/make-folders.js';
import { ParquetTable } from './parquet-table.js';
import { TABLE_NAMES, type TableName, tableOf } from './schema.js';

export const fileOf = (folder: string, name: TableName): string => join(folder, `${name}.parquet`);

/** Whether a folder holds all tables, as `whyslow export` leaves it. */
export const hasTables = (folder: string): boolean => TABLE_NAMES.every((n) => existsSync(fileOf(folder, n)));

/**
 * The files of all tables in a folder. They get their names when all of them are whole, so that nobody reads half a table.
 * Throws InputError when one is there already, unless `force` is set.
 */
export class TableFiles {
  readonly tables = new Map<TableName, ParquetTable>();
  readonly #folder: string;
  #isNewFolder = false;
  readonly #finished: () => void;

  constructor(folder: string, force = false) {
    this.#folder = folder;
    const there = TABLE_NAMES.map((name) => fileOf(folder, name)).find((path) => existsSync(path));
    if (there && !force) throw new InputError(`${there} exists; --force replaces it`);
    this.#finished = leaveNothing(() => this.abandon());
    try {
      this.#isNewFolder = makeFolders(folder, fs);
      for (const name of TABLE_NAMES) {
        rmSync(this.#partial(name), { force: true });
        this.tables.set(name, new ParquetTable(tableOf(name), this.#partial(name)));
      }
    } catch (error) {
      this.abandon();
      throw new InputError(`cannot write to ${folder}: ${describeSystemError(error)}`);
    }
  }

  /** Returns how many rows each table has. */
  finish(): Readonly<Record<TableName, number>> {
    for (const table of this.tables.values()) table.finish();
    for (const name of TABLE_NAMES) renameSync(this.#partial(name), fileOf(this.#folder, name));
    this.#finished();
    const counts = TABLE_NAMES.map((name) => [name, this.tables.get(name)!.rows] as const);
    return Object.fromEntries(counts) as Record<TableName, number>;
  }

  /** Removes what was written, and the folder if it was made for it. */
  abandon(): void {
    this.#finished();
    for (const [name, table] of this.tables) {
      table.close();
      rmSync(this.#partial(name), { force: true });
    }
    if (!this.#isNewFolder) return;
    try {
      rmdirSync(this.#folder);
    } catch {
      // somebody else has put something there
    }
  }

  /** Names that `whyslow diagnose` skips. */
  #partial(name: TableName): string {
    return join(this.#folder, `.${name}.parquet.partial-${process.pid}`);
  }
}
