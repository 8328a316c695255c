import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { PageFile, scanTable } from '../../src/readers/nsys/sqlite-pages.js';
import type { Row } from '../../src/readers/nsys/sqlite-row.js';
import { readSchema } from '../../src/readers/nsys/sqlite-schema.js';
import { cases, SOAK } from '../helpers/cases.js';
import { inFolder, root, whyslow } from '../helpers/cli.js';
import { memoryFile } from '../helpers/nsys.js';
import { describeWithTorch, python } from '../helpers/python.js';

const script = (name: string) => join(root, 'test/fixtures/nsys', name);
const fixture = (name: string) => join(root, 'zoo/fixtures', name, 'rank0.json.gz');
const make = (...args: string[]) => execFileSync(python, [script('make.py'), ...args]);

/** One value as Python has it. */
function pythonValue(row: Row, column: number): unknown {
  const number = row.number(column);
  return Number.isNaN(number) ? row.text(column, 1 << 20) : number;
}

describeWithTorch('databases of Python’s sqlite3', () => {
  it('databases of Python’s sqlite3 are scanned as Python reads them: any page size, overflow, deleted rows, late columns', () =>
    inFolder(async (folder) => {
      const output = execFileSync(python, [script('random-tables.py'), folder, String(cases(4, 16))], {
        maxBuffer: 1 << 28,
      });
      for (const { path, tables } of JSON.parse(output.toString())) {
        const file = await PageFile.open(memoryFile(readFileSync(path)));
        const faults = { badPages: 0, badRows: 0 };
        const schema = await readSchema(file, faults);
        for (const [name, { columns, rows }] of Object.entries<{ columns: string[]; rows: unknown[][] }>(
          tables,
        )) {
          const table = schema.get(name)!;
          const numbers = columns.map((c) => table.columns.get(c)!);
          const scanned: unknown[][] = [];
          await scanTable(file, table.root, faults, (row) =>
            scanned.push(numbers.map((c) => pythonValue(row, c))),
          );
          expect(scanned).toEqual(rows);
        }
        expect(faults).toEqual({ badPages: 0, badRows: 0 });
      }
    }));
});

describeWithTorch('exports made from traces of an H200', () => {
  it.each(
    SOAK
      ? ['h2d_pageable', 'data_inline', 'adam_forloop', 'graph_captured']
      : ['h2d_pageable', 'graph_captured'],
  )(
    '%s gets the same verdict, findings and gains as the trace',
    (name) =>
      inFolder(async (folder) => {
        make(fixture(name), join(folder, 'new.sqlite'));
        make(fixture(name), join(folder, 'old.sqlite'), '--schema', '2021', '--no-ops');
        const trace = await diagnose(fixture(name));
        const full = await diagnose(join(folder, 'new.sqlite'));
        expect(full.inputs.map((i) => [i.kind, i.problems])).toEqual([['nsys', []]]);
        expect(full.verdict.bottleneck).toBe(trace.verdict.bottleneck);
        expect(full.step.ms! / trace.step.ms!).toBeCloseTo(1, 1);
        expect(full.findings.map((f) => f.id)).toEqual(trace.findings.map((f) => f.id));
        for (const [i, { speedup }] of full.findings.entries())
          if (speedup) expect(speedup.likely / trace.findings[i]!.speedup!.likely).toBeCloseTo(1, 1);
        // Without operators, and with the columns of an old version.
        const plain = await diagnose(join(folder, 'old.sqlite'));
        expect(plain.verdict.bottleneck).toBe(trace.verdict.bottleneck);
      }),
    60_000,
  );

  it('a recording of several processes gives a rank for each, with the answer that each has alone', () =>
    inFolder(async (folder) => {
      make(fixture('h2d_pageable'), join(folder, 'one.sqlite'), '--no-ops');
      make(fixture('h2d_pageable'), join(folder, 'two.sqlite'), '--no-ops', '--pid', '11', '12');
      const one = await diagnose(join(folder, 'one.sqlite'));
      const two = await diagnose(join(folder, 'two.sqlite'));
      expect(two.ranks.map((r) => [r.rank, r.step_ms])).toEqual([0, 1].map((rank) => [rank, one.step.ms]));
      expect(two.verdict.bottleneck).toBe(one.verdict.bottleneck);
      expect(two.findings[0]!.id).toBe(one.findings[0]!.id);
    }));

  it('the command line reads an nsys export together with other files, also when one is broken', () =>
    inFolder(async (folder) => {
      make(fixture('h2d_pageable'), join(folder, 'good.sqlite'));
      execFileSync('sh', ['-c', `head -c 3000 ${folder}/good.sqlite > ${folder}/cut.sqlite`]);
      const { code, stdout, stderr } = await whyslow(['diagnose', folder]);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/Data-bound/);
    }));
});
