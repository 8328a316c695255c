import { stepNumber } from '../../model/host-names.js';
import type { TraceData } from '../../model/trace-data.js';
import type { RankPart } from '../common/content.js';
import type { RandomAccess, ReaderDescriptor, TraceRead } from '../common/reader.js';
import { selectRows } from '../common/select-rows.js';
import { type ColumnOf, EVENT_TABLES, mainProcesses, newNsysFaults } from './collect.js';
import { ANY_PROCESS, EventColumns, KIND } from './event-columns.js';
import { isOperator, plainName } from './names.js';
import { NoDatabase, PageFile, SQLITE_MAGIC, scanTable } from './sqlite-pages.js';
import { NO_COLUMN } from './sqlite-row.js';
import { EMPTY_HEADER, readHeader, readSchema, type ScanByName } from './sqlite-schema.js';
import { MAX_NAME, NsysStrings, toTraceData } from './to-trace-data.js';

interface Series {
  readonly rows: number[];
  readonly numbers: number[];
  time: number;
  end: number;
  overlaps: boolean;
  /** Whether all end at the same time: ranges that are pushed and never popped. */
  endTogether: boolean;
}

/** Ranges are steps only if there are several of them. */
const LEAST_STEPS = 2;

/**
 * Finds the NVTX ranges that mark steps: one after the other on a thread, with names such as `step 12` or `iteration`. Of
 * several series the one that covers most time counts. They get the name that torch gives to steps.
 */
export function markSteps(
  events: EventColumns,
  strings: NsysStrings,
  isKept: (process: number) => boolean,
): void {
  const { columns, rows } = events.rows;
  const answers = new Map<number, ReturnType<typeof stepNumber>>();
  const order: number[] = [];
  for (let row = 0; row < rows; row++) {
    const kind = columns.kind[row];
    if (kind !== KIND.user_annotation && kind !== KIND.nvtx_start_end) continue;
    const name = columns.name[row]!;
    if (!answers.has(name)) answers.set(name, stepNumber(strings.text(name)));
    if (answers.get(name) && isKept(columns.process[row]!)) order.push(row);
  }
  order.sort((a, b) => columns.ts[a]! - columns.ts[b]!);
  const all = new Map<string, Series>();
  for (const row of order) {
    const { series, number } = answers.get(columns.name[row]!)!;
    const key = `${columns.track[row]} ${series}`;
    const known = all.get(key) ?? {
      rows: [],
      numbers: [],
      time: 0,
      end: Number.NEGATIVE_INFINITY,
      overlaps: false,
      endTogether: true,
    };
    all.set(key, known);
    const end = columns.ts[row]! + columns.dur[row]!;
    known.overlaps ||= columns.ts[row]! < known.end;
    known.endTogether &&= known.rows.length === 0 || end === known.end;
    known.end = end;
    known.time += columns.dur[row]!;
    known.rows.push(row);
    known.numbers.push(number);
  }
  for (const series of all.values()) if (series.overlaps && series.endTogether) closeEach(columns, series);
  const usable = [...all.values()].filter((s) => !s.overlaps && s.rows.length >= LEAST_STEPS);
  const best = usable.reduce<Series | null>((a, b) => (a && a.time >= b.time ? a : b), null);
  if (!best) return;
  const numbered = best.numbers.every((n, i) => i === 0 || n > best.numbers[i - 1]!);
  for (const [i, row] of best.rows.entries()) {
    columns.name[row] = strings.ofText(`ProfilerStep#${numbered ? best.numbers[i] : i}`);
    columns.kind[row] = KIND.user_annotation;
  }
}

/** Each range ends where the next begins. When the last one ends is not known. */
function closeEach({ ts, dur }: EventColumns['rows']['columns'], series: Series): void {
  series.rows.slice(1).forEach((next, i) => {
    dur[series.rows[i]!] = ts[next]! - ts[series.rows[i]!]!;
  });
  series.time = ts[series.rows.at(-1)!]! - ts[series.rows[0]!]!;
  series.rows.pop();
  series.numbers.pop();
  series.overlaps = false;
}

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
  if (isExport && events.rows.rows === 0) faults.add('nothing-traced', null);
  const { header, baseNs } = await readHeader(scan);
  const { main, others } = mainProcesses(events);
  tellOperators(events, strings);
  for (const process of main) markSteps(events, strings, (of) => isOf(of, process));
  if (pages?.isCut) faults.add('cut-database', null);
  if (scanFaults.badPages > 0) faults.add('bad-pages', null, scanFaults.badPages);
  if (scanFaults.badRows > 0) faults.add('bad-rows', null, scanFaults.badRows);
  if (others > 0) faults.add('other-processes', null, others);
  if (strings.missing > 0) faults.add('missing-names', null, strings.missing);
  const finished = events.finish();
  const all = toTraceData(finished, strings, header, baseNs);
  const processOf = finished.rows.process;
  const traceOf = (process: number) => selectRows(all, (row) => isOf(processOf[row]!, process), {});
  return {
    trace: traceOf(main[0]!),
    ...(main.length > 1 ? { parts: () => eachRank(main, traceOf) } : {}),
    problems: faults.list(),
  };
}

const isOf = (of: number, process: number) => of === process || of === ANY_PROCESS;

function* eachRank(
  processes: readonly number[],
  traceOf: (process: number) => TraceData,
): Iterable<RankPart> {
  for (const process of processes) yield { label: `process-${process}`, trace: traceOf(process) };
}

/** Tables of rocprofv3, and of RPD before it. */
const isOfRocm = (table: string): boolean => /^rocpd_/.test(table);

/** For a file that comes through a pipe or is packed. */
function notSeekable(): TraceRead {
  const faults = newNsysFaults();
  faults.add('cannot-seek', null);
  const none = toTraceData(new EventColumns().finish(), new NsysStrings(), EMPTY_HEADER, 0n);
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

/** What `nsys export --type sqlite` writes. Which tables it has is at many places of the file: the reader checks them. */
export const nsysReader: ReaderDescriptor<TraceRead> = {
  id: 'nsys',
  title: 'an Nsight Systems recording (`nsys export --type sqlite`)',
  sniff: (head) => Buffer.from(head.subarray(0, SQLITE_MAGIC.length)).equals(SQLITE_MAGIC),
  line: { one: 'nsys recording', many: 'nsys recordings', counts: 'events', isTrace: true },
  refusesEmpty: true,
  create: () => ({ push() {}, finish: notSeekable }),
  readAt: readExport,
  digest: ({ trace, parts }) => ({ of: 'trace', trace, parts }),
};
