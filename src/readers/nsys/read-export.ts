import type { RandomAccess, TraceRead } from '../common/reader.js';
import { type ColumnOf, EVENT_TABLES, mainProcess } from './collect.js';
import { ANY_PROCESS, EventColumns, KIND } from './event-columns.js';
import { newNsysFaults } from './faults.js';
import { EMPTY_HEADER, readHeader, type ScanByName } from './header.js';
import { isOperator, plainName } from './names.js';
import { NoDatabase, PageFile } from './sqlite-pages.js';
import { NO_COLUMN } from './sqlite-row.js';
import { scanTable } from './sqlite-scan.js';
import { readSchema } from './sqlite-schema.js';
import { markSteps } from './steps.js';
import { MAX_NAME, NsysStrings } from './strings.js';
import { toTraceData } from './to-trace-data.js';

/** Reads an export of Nsight Systems into the columns of a trace. Faults in the data become problems. */
export async function readExport(file: RandomAccess): Promise<TraceRead> {
  const faults = newNsysFaults();
  const scanFaults = { badPages: 0, badRows: 0 };
  const events = new EventColumns();
  const strings = new NsysStrings();
  const pages = await openPages(file);
  const tables = pages ? await readSchema(pages, scanFaults) : new Map();
  const scan: ScanByName = async (name, visitor) => {
    const table = tables.get(name);
    if (!table || !pages) return;
    const columnOf: ColumnOf = (column) => table.columns.get(column) ?? NO_COLUMN;
    await scanTable(pages, table.root, scanFaults, visitor(columnOf));
  };
  const isExport = EVENT_TABLES.some(([name]) => tables.has(name)) || tables.has('StringIds');
  if (!pages) faults.add('not-a-database', null);
  else if (!isExport) faults.add([...tables.keys()].some(isOfRocm) ? 'rocm-database' : 'not-nsys', null);
  for (const [name, collect] of EVENT_TABLES) {
    await scan(name, (columnOf) => collect(columnOf, { events, strings, faults }));
  }
  await scan('StringIds', (columnOf) => {
    const [id, value] = [columnOf('id'), columnOf('value')];
    return (row) => {
      if (strings.isWanted(row.number(id)))
        strings.resolve(row.number(id), plainName(row.text(value, MAX_NAME) ?? ''));
    };
  });
  const { header, baseNs } = await readHeader(scan);
  const { process, others } = mainProcess(events);
  const isKept = (of: number) => of === process || of === ANY_PROCESS;
  tellOperators(events, strings);
  const hasSteps = markSteps(events, strings, isKept);
  if (isExport && events.rows.rows > 0 && !hasSteps) faults.add('no-step-ranges', null);
  if (pages?.isCut) faults.add('cut-database', null);
  if (scanFaults.badPages > 0) faults.add('bad-pages', null, scanFaults.badPages);
  if (scanFaults.badRows > 0) faults.add('bad-rows', null, scanFaults.badRows);
  if (others > 0) faults.add('other-processes', null, others);
  if (strings.missing > 0) faults.add('missing-names', null, strings.missing);
  return { trace: toTraceData(events.finish(), strings, header, baseNs, isKept), problems: faults.list() };
}

/** Tables of rocprofv3, and of RPD before it. */
const isOfRocm = (table: string): boolean => /^rocpd_/.test(table);

/** For a file that comes through a pipe or is packed. */
export function notSeekable(): TraceRead {
  const faults = newNsysFaults();
  faults.add('cannot-seek', null);
  const none = toTraceData(new EventColumns().finish(), new NsysStrings(), EMPTY_HEADER, 0n, () => true);
  return { trace: none, problems: faults.list() };
}

async function openPages(file: RandomAccess): Promise<PageFile | null> {
  try {
    return await PageFile.open(file);
  } catch (error) {
    if (error instanceof NoDatabase) return null;
    throw error;
  }
}

/** Ranges of emit_nvtx are operators. Their names are known only once all strings are. */
function tellOperators({ rows: { columns, rows } }: EventColumns, strings: NsysStrings): void {
  const answers = new Map<number, boolean>();
  for (let row = 0; row < rows; row++) {
    if (columns.kind[row] !== KIND.user_annotation) continue;
    const name = columns.name[row]!;
    if (!answers.has(name)) answers.set(name, isOperator(strings.text(name)));
    if (answers.get(name)) columns.kind[row] = KIND.cpu_op;
  }
}
