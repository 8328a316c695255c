import { indexInSorted } from '../base/search.js';
import { bytes, formatBytes } from '../base/units.js';
import { isGpuWork } from '../model/category.js';
import type { Trace } from '../model/trace.js';
import { NO_I32, NO_ID } from '../model/trace-data.js';
import { classifyName } from '../traces/kernels/classify.js';
import type { SliceDetail } from './timeline.js';

type Field = readonly [label: string, value: string];

/** What the trace tells about one of its rows, in plain words. */
export function describeRow(trace: Trace, row: number): SliceDetail['fields'] {
  const { data } = trace;
  const category = data.kinds[data.kind[row]!]!;
  return [
    ['Category', category.categoryName.slice(0, 60) || 'none'],
    ...(isGpuWork(category.category) ? workFields(trace, row) : []),
    ...copyFields(trace, row),
    ...shapeFields(trace, row),
    ...collectiveFields(trace, row),
    ...numbered('Correlation', data.correlation[row]!),
    ...numbered('External id', data.external[row]!),
  ];
}

const numbered = (label: string, id: number): Field[] => (id === NO_ID ? [] : [[label, String(id)]]);
const textField = (label: string, value: string): Field[] =>
  value === '' ? [] : [[label, value.slice(0, 600)]];

function workFields(trace: Trace, row: number): Field[] {
  const { gpu } = trace.data;
  const kind = classifyName(trace.name(row), trace.category(row));
  const fields: Field[] = [['Kind', kind.class]];
  if (kind.precision !== 'unknown')
    fields.push(['Precision', `${kind.precision}${kind.tensorCore ? ', tensor cores' : ''}`]);
  const i = indexInSorted(gpu.row, row);
  if (i < 0) return fields;
  if (gpu.stream[i] !== NO_I32) fields.push(['Stream', String(gpu.stream[i])]);
  const text = (id: number) => trace.strings.text(id);
  for (const field of [...textField('Grid', text(gpu.grid[i]!)), ...textField('Block', text(gpu.block[i]!))])
    fields.push(field);
  if (gpu.registers[i] !== 65535) fields.push(['Registers per thread', String(gpu.registers[i])]);
  if (gpu.sharedMemory[i] !== NO_ID && gpu.sharedMemory[i]! > 0)
    fields.push(['Shared memory', formatBytes(bytes(gpu.sharedMemory[i]!))]);
  if (!Number.isNaN(gpu.occupancy[i]!)) fields.push(['Occupancy (estimate)', `${gpu.occupancy[i]}%`]);
  return fields;
}

function copyFields({ data: { copies } }: Trace, row: number): Field[] {
  const i = indexInSorted(copies.row, row);
  if (i < 0) return [];
  const fields: Field[] = [];
  if (!Number.isNaN(copies.bytes[i]!)) fields.push(['Size', formatBytes(bytes(copies.bytes[i]!))]);
  if (copies.bandwidth[i]! > 0) fields.push(['Bandwidth', `${copies.bandwidth[i]!.toPrecision(3)} GB/s`]);
  return fields;
}

function shapeFields({ data: { shapes }, strings }: Trace, row: number): Field[] {
  const i = indexInSorted(shapes.row, row);
  if (i < 0) return [];
  return [
    ...textField('Input shapes', strings.text(shapes.dims[i]!)),
    ...textField('Input types', strings.text(shapes.types[i]!)),
  ];
}

function collectiveFields({ data: { collectives: c }, strings }: Trace, row: number): Field[] {
  const i = indexInSorted(c.row, row);
  if (i < 0) return [];
  const text = (id: number) => strings.text(id);
  const elements = Number.isNaN(c.inElements[i]!) ? '' : String(c.inElements[i]);
  const size = Number.isNaN(c.groupSize[i]!) ? '' : ` (${c.groupSize[i]} ranks)`;
  return [
    ...textField('Collective', text(c.collective[i]!)),
    ...textField('Group', `${text(c.groupDescription[i]!) || text(c.groupName[i]!)}${size}`),
    ...textField('Elements in', elements && `${elements} × ${text(c.dtype[i]!)}`),
  ];
}
