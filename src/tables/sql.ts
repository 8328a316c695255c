import type { DuckDBConnection } from '@duckdb/node-api';
import { InputError, messageOf } from '../base/input-error.js';
import { TABLE_NAMES, type TableName } from './schema.js';
import { fileOf } from './table-files.js';

/** Rows of a query, as they come. */
export interface QueryRows {
  readonly columns: readonly QueryColumn[];
  readonly chunks: AsyncIterable<readonly QueryRow[]>;
}
export interface QueryColumn {
  readonly name: string;
  /** DuckDB's name of it, e.g. `BIGINT`. */
  readonly type: string;
}
/** Values as JSON has them. Integers of 64 bits and decimals are text. */
export type QueryRow = readonly unknown[];

const EMPTY_QUERY = 'the query is empty; try "FROM steps"';
const TABLES = `tables: ${TABLE_NAMES.join(', ')}; "DESCRIBE steps" lists the columns of one`;
const MISSING = 'DuckDB is not installed, and `whyslow sql` needs it: npm install @duckdb/node-api';

/** Throws InputError when DuckDB is not installed. It is large and optional, so it is loaded only here. */
async function loadDuckDB(): Promise<typeof import('@duckdb/node-api')> {
  try {
    return await import('@duckdb/node-api');
  } catch (error) {
    // By `import`, or by `require` in the bundle with compiled code.
    const isMissing = /^(?:ERR_)?MODULE_NOT_FOUND$/.test(String((error as { code?: unknown }).code));
    throw new InputError(isMissing ? MISSING : `DuckDB cannot be loaded: ${messageOf(error)}`);
  }
}

/** The tables that a query may use. Others need no rows. */
export function tablesIn(query: string): readonly TableName[] {
  // Functions that take a table's name as a text, which may be put together.
  if (/\bquery(?:_table)?\s*\(/i.test(query)) return TABLE_NAMES;
  const words = new Set(query.toLowerCase().match(/\w+/g));
  return TABLE_NAMES.filter((name) => words.has(name));
}

/** Prepares the program before anything is read, so that a missing package or a fault in the query costs no time. */
export async function openDatabase(): Promise<Database> {
  const { DuckDBInstance, StatementType } = await loadDuckDB();
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const allowed: readonly number[] = [StatementType.SELECT, StatementType.EXPLAIN];
  return new Database(await instance.connect(), allowed);
}

/** A database that can read nothing but the tables of one folder. */
export class Database {
  readonly #connection: DuckDBConnection;
  readonly #allowed: readonly number[];

  constructor(connection: DuckDBConnection, allowed: readonly number[]) {
    this.#connection = connection;
    this.#allowed = allowed;
  }

  /** `spill`: a folder for what does not fit into memory. */
  async attach(tables: string, spill: string): Promise<void> {
    const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
    const files = TABLE_NAMES.map((name) => fileOf(tables, name));
    const run = (sql: string) => this.#connection.run(sql);
    // DuckDB asks for the pattern first, then for the file that it finds.
    await run(`SET allowed_paths = [${[...files, ...files.map(literal)].map(quoted).join(', ')}]`);
    await run(`SET allowed_directories = [${quoted(`${spill}/`)}]`);
    await run(`SET temp_directory = ${quoted(spill)}`);
    await run('SET enable_external_access = false');
    await run('SET lock_configuration = true');
    for (const [i, name] of TABLE_NAMES.entries())
      await run(`CREATE VIEW ${name} AS SELECT * FROM read_parquet(${quoted(literal(files[i]!))})`);
  }

  /** Throws InputError with DuckDB's words when the query is wrong. */
  async query(sql: string): Promise<QueryRows> {
    // DuckDB has no words for it.
    if (/^[\s;]*$/.test(sql)) throw new InputError(EMPTY_QUERY);
    return this.#expectFaults(async () => {
      const statements = await this.#connection.extractStatements(sql);
      if (statements.count === 0) throw new InputError(EMPTY_QUERY);
      if (statements.count !== 1) throw new InputError(`one query at a time, not ${statements.count}`);
      const statement = await statements.prepare(0);
      if (!this.#allowed.includes(statement.statementType))
        throw new InputError('only queries that read can be run, such as SELECT');
      const result = await statement.stream();
      const columns = result.columnNames().map((name, i) => ({ name, type: String(result.columnType(i)) }));
      return { columns, chunks: this.#chunksOf(result.yieldRowsJson()) };
    });
  }

  /** Ends the query that runs: the iterator over its rows throws. */
  interrupt(): void {
    this.#connection.interrupt();
  }

  close(): void {
    this.#connection.closeSync();
  }

  async *#chunksOf(rows: AsyncIterable<readonly QueryRow[]>): AsyncGenerator<readonly QueryRow[]> {
    const iterator = rows[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await this.#expectFaults(() => iterator.next());
      if (done) return;
      yield value;
    }
  }

  async #expectFaults<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      if (error instanceof InputError) throw error;
      // The lines after this one show the query with a mark below the fault.
      const [message] = messageOf(error).split(/\n\s*\n?LINE \d+:/, 1);
      const text = message!.replace(/^Failed to extract statements: /, '').replace(/\s*\n\s*/g, ' ');
      throw new InputError(`the query failed: ${text.trim()}`, [TABLES]);
    }
  }
}

/** DuckDB takes a path with these characters for a pattern. */
const literal = (path: string): string => path.replace(/[[*?]/g, '[$&]');
