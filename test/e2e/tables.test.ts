import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { TIME_CLASSES } from '../../src/facts/time-class.js';
import { readRun } from '../../src/ingest/run.js';
import { diagnose } from '../../src/library/diagnose.js';
import { exportTables } from '../../src/library/export.js';
import { facts } from '../../src/library/facts.js';
import { queryTables } from '../../src/library/sql.js';
import { columnsAsMarkdown, TABLE_NAMES, type TableName } from '../../src/tables/schema.js';
import { inFolder, root, start, until, whyslow } from '../helpers/cli.js';
import { writeCapture } from '../helpers/simulate/capture-files.js';
import { simulateRun } from '../helpers/simulate/simulate.js';

const RANKS = join(root, 'test/fixtures/zoo-ranks/straggler_host');
const LOOP = join(root, 'zoo/fixtures/data_io_w0');
const DOCUMENT = readFileSync(join(root, 'docs/tables.md'), 'utf8');
const QUERIES = [...DOCUMENT.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, query]) => query!.trim());

type Row = Record<string, never> & { readonly [column: string]: number & string & bigint };
async function rowsOf(folder: string, table: TableName): Promise<readonly Row[]> {
  const file = await asyncBufferFromFile(join(folder, `${table}.parquet`));
  return (await parquetReadObjects({ file })) as Row[];
}
/** In this process, which takes a tenth of the time of starting another. */
async function answer(path: string, query: string): Promise<Record<string, unknown>[]> {
  const answers: Record<string, unknown>[] = [];
  await queryTables(path, query, { jobs: 1 }, async ({ columns, chunks }) => {
    for await (const rows of chunks)
      for (const row of rows) answers.push(Object.fromEntries(columns.map((c, i) => [c.name, row[i]])));
  });
  return answers;
}
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

describe('whyslow export', () => {
  it('writes tables that agree with the traces and with diagnose', () =>
    inFolder(async (folder) => {
      const { rows } = await exportTables([RANKS], { out: folder, jobs: 1 });
      const [steps, kernels, operators, collectives, gaps, findings] = await Promise.all(
        TABLE_NAMES.map((name) => rowsOf(folder, name)),
      );
      const run = await readRun(RANKS, { jobs: 1 });
      const report = await diagnose([RANKS], { jobs: 1 });
      expect(rows.kernels).toBe(sum(run.traces.map((t) => t.trace.links.work.length)));
      expect(kernels).toHaveLength(rows.kernels);
      expect(findings!.map((f) => f.id)).toEqual(report.findings.map((f) => f.id));
      for (const step of steps!) {
        const classes = sum(TIME_CLASSES.map((c) => step[`${c}_ms`]!));
        expect(classes).toBeCloseTo(step.duration_ms!, 6);
        const idle = gaps!.filter((g) => g.rank === step.rank && g.step === step.step);
        const inStep = sum(TIME_CLASSES.filter((c) => /^idle/.test(c)).map((c) => step[`${c}_ms`]!));
        // A gap belongs to the step that it begins in, so single steps may differ by one gap.
        expect(sum(idle.map((g) => g.duration_us! / 1e3))).toBeGreaterThanOrEqual(0.9 * inStep);
      }
      expect(sum(gaps!.map((g) => g.duration_us!)) / 1e3).toBeCloseTo(
        sum(steps!.flatMap((s) => TIME_CLASSES.filter((c) => /^idle/.test(c)).map((c) => s[`${c}_ms`]!))),
        3,
      );
      expect(new Set(steps!.map((s) => s.rank))).toEqual(new Set([0, 1, 2, 3]));
      // The first steps are whole too, so there are more steps than the mean is over.
      expect(steps!.filter((s) => s.rank === 0).length).toBeGreaterThanOrEqual(report.step.count);
      const outer = operators!.filter((o) => o.depth === 0);
      const perThread = (o: Row) => `${o.rank} ${o.thread}`;
      for (const thread of new Set(outer.map(perThread))) {
        const own = operators!.filter((o) => perThread(o) === thread);
        const total = sum(own.filter((o) => o.depth === 0).map((o) => o.duration_us!));
        // Times of calls add up to those around them, but for clocks that are read one after the other.
        expect(Math.abs(sum(own.map((o) => o.self_us!)) / total - 1)).toBeLessThan(0.01);
      }
      // On one clock, all members of an all-reduce end at the same time.
      const matched = collectives!.filter((c) => c.collective !== null && c.wait_us !== null);
      expect(matched.length).toBeGreaterThan(50);
      const endOf = (c: Row) => Number(c.start_ns! - matched[0]!.start_ns!) / 1e3 + c.duration_us!;
      for (const c of matched) {
        const other = matched.find((m) => m.collective === c.collective && m.rank !== c.rank)!;
        expect(Math.abs(endOf(c) - endOf(other))).toBeLessThan(1000);
        expect(c.wait_us! + c.transfer_us!).toBeCloseTo(c.duration_us!, 3);
      }
      // Rank 2 is late by 20 ms on the host.
      const waits = (rank: number) => sum(matched.filter((c) => c.rank === rank).map((c) => c.wait_us!));
      expect(Math.min(waits(0), waits(1), waits(3))).toBeGreaterThan(2 * waits(2));
    }));

  it('refuses to overwrite, unless --force is given, and leaves nothing half done', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'tables');
      expect((await whyslow(['export', LOOP, '-o', out])).code).toBe(0);
      const again = await whyslow(['export', LOOP, '-o', out]);
      expect(again).toMatchObject({ code: 2, stdout: '' });
      expect(again.stderr).toMatch(/^whyslow: .*steps\.parquet exists; --force replaces it\n$/);
      const forced = await whyslow(['export', LOOP, '-o', out, '--force']);
      expect(forced).toMatchObject({ code: 0, stderr: '' });
      expect(forced.stdout).toMatch(/kernels\.parquet {2}749 rows\n/);
      const missing = await whyslow(['export', join(folder, 'nothing'), '-o', join(folder, 'other')]);
      expect(missing.code).toBe(2);
      expect(existsSync(join(folder, 'other'))).toBe(false);
      expect(readdirSync(out).sort()).toEqual(TABLE_NAMES.map((n) => `${n}.parquet`).sort());
      // The tables are next to traces without disturbing them.
      const { code } = await whyslow(['diagnose', LOOP, out]);
      expect(code).toBe(0);
    }));

  it('leaves nothing behind at Ctrl-C', () =>
    inFolder(async (folder) => {
      // Nobody writes to the pipe, so it waits.
      execFileSync('mkfifo', [join(folder, 'rank0.json')]);
      const args = [join(root, 'bin/whyslow.js'), 'export', 'rank0.json', '-o', 'tables'];
      const running = start(process.execPath, args, { cwd: folder });
      await until(() => existsSync(join(folder, 'tables')), 'the folder is made');
      running.child.kill('SIGINT');
      await running.ended;
      expect(running.child.signalCode).toBe('SIGINT');
      expect(readdirSync(folder)).toEqual(['rank0.json']);
    }));

  it('tables that do not fit on the disk are an error in one line, and none is left', () =>
    inFolder(async (folder) => {
      // Some tables fit, and are finished before another fails.
      const command = `ulimit -f 40; exec "${process.execPath}" "${root}bin/whyslow.js" export "${LOOP}" -o tables`;
      const { code, stderr } = await start('sh', ['-c', command], { cwd: folder }).ended;
      expect(code).toBe(2);
      expect(stderr).toMatch(/^whyslow: cannot write the table \w+ to tables: the file is too large.*\n$/);
      expect(readdirSync(folder)).toEqual([]);
    }));

  it('an export of facts has their steps, and says what they lack', () =>
    inFolder(async (folder) => {
      await facts(LOOP, { folder: join(folder, 'facts') });
      const out = join(folder, 'tables');
      const { stderr } = await whyslow(['export', join(folder, 'facts'), '-o', out]);
      expect(stderr).toMatch(/^whyslow: there are facts of rank 0, not traces → without their kernels.*\n$/);
      const times =
        'SELECT step, duration_ms, compute_ms, idle_data_ms FROM steps WHERE step > 3 ORDER BY step';
      const fromFacts = await answer(out, times);
      expect(fromFacts.length).toBeGreaterThan(1);
      expect(fromFacts).toEqual(await answer(LOOP, times));
    }));

  it('writes rows in groups', () =>
    inFolder(async (folder) => {
      const event = (i: number) =>
        `{"ph":"X","cat":"kernel","name":"k${i % 7}","pid":0,"tid":7,"ts":${i * 10},"dur":5,"args":{"stream":7}}`;
      const text = Array.from({ length: 70_000 }, (_, i) => event(i)).join(',\n');
      writeFileSync(join(folder, 'rank0.json'), `{"schemaVersion":1,"traceEvents":[${text}]}`);
      await exportTables(join(folder, 'rank0.json'), { out: join(folder, 'out'), jobs: 1 });
      const file = await asyncBufferFromFile(join(folder, 'out/kernels.parquet'));
      const { row_groups } = await parquetMetadataAsync(file);
      expect(row_groups.map((g) => Number(g.num_rows))).toEqual([32_768, 32_768, 4_464]);
    }));

  it('takes broken traces as far as they go', () =>
    inFolder(async (folder) => {
      const bytes = readFileSync(join(LOOP, 'rank0.json.gz'));
      writeFileSync(join(folder, 'cut.json.gz'), bytes.subarray(0, bytes.length * 0.7));
      const { rows } = await exportTables(join(folder, 'cut.json.gz'), { out: join(folder, 'out'), jobs: 1 });
      expect(rows.operators).toBeGreaterThan(100);
    }));
});

describe('docs/tables.md', () => {
  it('lists the columns as they are', () => {
    // The formatter makes columns of a table equally wide.
    const narrow = (text: string) => text.replace(/ +/g, ' ').replace(/-+/g, '-');
    expect(narrow(DOCUMENT)).toContain(narrow(columnsAsMarkdown()));
  });

  it('docs/tables.md has ten queries, each with an answer', () =>
    inFolder(async (folder) => {
      expect(QUERIES).toHaveLength(10);
      const fault = { kind: 'data', ranks: [2], size: 0.3 } as const;
      const options = { seed: 5, ranks: 4, ranksPerHost: 2, steps: 6, eventsPerStep: 120, fault } as const;
      mkdirSync(join(folder, 'run'));
      writeCapture(simulateRun({ ...options, parallelism: 'ddp' }), join(folder, 'run'), { traces: true });
      await exportTables(join(folder, 'run'), { out: join(folder, 'tables'), jobs: 1 });
      const answers: Record<string, unknown>[][] = [];
      for (const query of QUERIES) answers.push(await answer(join(folder, 'tables'), query));
      expect(QUERIES.filter((_, i) => answers[i]!.length === 0)).toEqual([]);
      const late = answers[QUERIES.findIndex((q) => q.startsWith('SELECT late_rank'))]!;
      expect(late[0]).toMatchObject({ late_rank: 2 });
      const shares = answers[QUERIES.findIndex((q) => q.startsWith('SELECT class'))]!;
      expect(sum(shares.map((s) => s.percent as number))).toBeCloseTo(100, 0);
    }));
});

describe('whyslow sql', () => {
  it('queries a run, prints tables, csv and json, and leaves no files', () =>
    inFolder(async (folder) => {
      const env = { TMPDIR: folder, NODE_DISABLE_COMPILE_CACHE: '1' };
      const query = 'SELECT step, gpu_work, start_ns FROM steps ORDER BY step LIMIT 2';
      const table = await whyslow(['sql', LOOP, query], { env });
      expect(table.stdout).toMatch(
        /^step {2}gpu_work +start_ns\n─+ {2}─+ {2}─+\n +3 +\d+ +\d{19}\n[\s\S]*\(2 rows\)\n$/,
      );
      const csv = await whyslow(['sql', LOOP, query, '--format', 'csv'], { env });
      expect(csv.stdout).toMatch(/^step,gpu_work,start_ns\n3,\d+,\d{19}\n4,\d+,\d{19}\n$/);
      const json = await whyslow(['sql', LOOP, query, '--format', 'json'], { env });
      expect(json.stdout).toMatch(/^\[\n\{"step":3,"gpu_work":\d+,"start_ns":\d{19}\},\n/);
      expect(JSON.parse(json.stdout)).toHaveLength(2);
      expect(readdirSync(folder)).toEqual([]);
    }));

  it(
    'says what is wrong with a query, and runs nothing that writes or reads elsewhere',
    () =>
      inFolder(async (folder) => {
        await exportTables(LOOP, { out: join(folder, "ta[b]l*e's"), jobs: 1 });
        const run = (query: string) => answer(join(folder, "ta[b]l*e's"), query);
        const elsewhere = join(root, 'package.json');
        const cases: readonly (readonly [query: string, words: RegExp])[] = [
          ['SELECT nmae FROM kernels', /the query failed: .*"nmae" not found.*"name"/],
          ['SELEC 1', /the query failed: .*syntax error/],
          ['SELECT 1; SELECT 2', /one query at a time, not 2/],
          [' ; ', /the query is empty/],
          [`FROM read_text('${elsewhere}')`, /disabled by configuration/],
          [`COPY (SELECT 1) TO '${join(folder, 'made')}'`, /disabled by configuration/],
          [`EXPLAIN ANALYZE COPY (SELECT 1) TO '${join(folder, 'made')}'`, /disabled by configuration/],
          ["COPY (SELECT 1) TO 'ta[b]l*e''s/steps.parquet'", /disabled by configuration|only queries/],
          ["ATTACH 'made.db'", /disabled by configuration|only queries/],
          ['SET enable_external_access = true', /only queries that read/],
          ['CREATE TABLE t (a INT)', /only queries that read/],
          ['INSTALL httpfs', /only queries that read|disabled/],
        ];
        for (const [query, words] of cases) await expect(run(query), query).rejects.toThrow(words);
        expect(existsSync(join(folder, 'made')) || existsSync(join(folder, 'made.db'))).toBe(false);
        expect(await run('SELECT count(*) AS n FROM kernels')).toEqual([{ n: '749' }]);
        const { code, stdout, stderr } = await whyslow(['sql', "ta[b]l*e's", 'SELEC 1'], { cwd: folder });
        expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
        expect(stderr).toMatch(
          /^whyslow: the query failed: .*syntax error.*\ntables: steps, .*columns of one\n$/,
        );
      }),
    60_000,
  );

  it('keeps names of kernels as data, on a terminal and in a query', () =>
    inFolder(async (folder) => {
      const evil = '\'); DROP VIEW steps; --\u001b[2J\u202e\n",x';
      const trace = JSON.parse(gunzipSync(readFileSync(join(LOOP, 'rank0.json.gz'))).toString()) as {
        traceEvents: { cat?: string; name: string }[];
      };
      for (const e of trace.traceEvents) if (e.cat === 'kernel') e.name = evil;
      writeFileSync(join(folder, 'rank0.json'), JSON.stringify(trace));
      const query = "SELECT DISTINCT name FROM kernels WHERE kind = 'kernel'";
      const run = (format: string) =>
        whyslow(['sql', 'rank0.json', query, '--format', format], { cwd: folder });
      expect(JSON.parse((await run('json')).stdout)).toEqual([{ name: evil }]);
      for (const format of ['table', 'csv']) {
        const { stdout } = await run(format);
        expect(stdout).toContain('DROP VIEW steps; --\\x1b[2J\\u202e');
        expect(stdout).not.toContain('\u001b');
      }
    }));

  it.each<[string, string, Readonly<Record<string, string>>]>([
    [
      'from modules',
      `import { register } from 'node:module';
      const hook = \`export const resolve = (name, context, next) => {
        if (!name.startsWith('@duckdb')) return next(name, context);
        throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
      };\`;
      register('data:text/javascript,' + encodeURIComponent(hook));`,
      { NODE_DISABLE_COMPILE_CACHE: '1' },
    ],
    [
      'from compiled code',
      `import Module from 'node:module';
      const resolve = Module._resolveFilename;
      Module._resolveFilename = (name, ...rest) => {
        if (!name.startsWith('@duckdb')) return resolve(name, ...rest);
        throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
      };`,
      {},
    ],
  ])('says how to install DuckDB where it is missing, %s', (_, hook, extra) =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, 'without.mjs'), hook);
      // Node 20 has no other call than register; Node 26 warns of it.
      const env = {
        NODE_OPTIONS: `--disable-warning=DEP0205 --import ${join(folder, 'without.mjs')}`,
        ...extra,
      };
      const { code, stdout, stderr } = await whyslow(['sql', LOOP, 'FROM steps'], { env });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toBe(
        'whyslow: DuckDB is not installed, and `whyslow sql` needs it: npm install @duckdb/node-api\n',
      );
    }),
  );
});
