import type { TelemetryField } from '../../../model/telemetry.js';
import type { RowLayout } from './dmon-layout.js';
import { type Cell, figure, index, name, pci, timestamp, uuid } from './sample.js';

/** Bits of `clocks_event_reasons.active` (nvml.h, nvmlClocksEventReasons). */
const REASONS = {
  powerCap: 0x4 | 0x80, // software power limit, hardware power brake
  thermal: 0x20 | 0x40, // software, hardware
  slowdown: 0x8, // hardware, for heat or power
} as const satisfies Partial<Record<TelemetryField, number>>;

const reasonBits: Cell = (sample, text) => {
  if (!/^0x[0-9a-f]{1,16}$/i.test(text)) return;
  // All bits with a meaning are in the lower half.
  const bits = Number.parseInt(text.slice(-8).replace(/^0x/i, ''), 16);
  for (const [field, mask] of Object.entries(REASONS)) {
    if (Number.isNaN(sample.figures[field as TelemetryField]))
      sample.figures[field as TelemetryField] = bits & mask ? 1 : 0;
  }
};

/** One reason in a column of its own. Any active reason of a field makes its share 1. */
const reason =
  (field: TelemetryField): Cell =>
  (sample, text) => {
    const active = /^active$/i.test(text) ? 1 : /^not active$/i.test(text) ? 0 : Number.NaN;
    const known = sample.figures[field];
    if (Number.isNaN(known) || active > known) sample.figures[field] = active;
  };

const REASON_COLUMNS: Readonly<Record<string, Cell>> = {
  active: reasonBits,
  sw_power_cap: reason('powerCap'),
  hw_power_brake_slowdown: reason('powerCap'),
  hw_thermal_slowdown: reason('thermal'),
  sw_thermal_slowdown: reason('thermal'),
  hw_slowdown: reason('slowdown'),
};

/** Columns of `nvidia-smi --query-gpu=… --format=csv` by name, with synonyms. */
const COLUMNS: Readonly<Record<string, Cell>> = {
  timestamp,
  index,
  name,
  gpu_name: name,
  uuid,
  gpu_uuid: uuid,
  'pci.bus_id': pci,
  gpu_bus_id: pci,
  'utilization.gpu': figure('utilization'),
  'utilization.memory': figure('memoryUtilization'),
  'clocks.sm': figure('smClock'),
  'clocks.current.sm': figure('smClock'),
  'clocks.mem': figure('memoryClock'),
  'clocks.current.memory': figure('memoryClock'),
  'clocks.max.sm': figure('maxSmClock'),
  'power.draw': figure('power'),
  'power.draw.instant': figure('power'),
  'power.draw.average': figure('power'),
  'power.limit': figure('powerLimit'),
  'enforced.power.limit': figure('powerLimit'),
  'temperature.gpu': figure('temperature'),
};

/** The cells of a line; nvidia-smi quotes nothing. */
export const cellsOf = (line: string): string[] => line.split(',').map((cell) => cell.trim());

/** Names without units: `power.draw [W]` is `power.draw`. Null for a line that is not the header of a query. */
export function queryNames(line: string): string[] | null {
  const names = cellsOf(line).map((cell) => cell.replace(/\s*\[[^\]]*\]$/, '').toLowerCase());
  return names.filter((n) => cellFor(n) !== null).length >= LEAST_COLUMNS && names.some(isFigure)
    ? names
    : null;
}
const LEAST_COLUMNS = 2;
const isFigure = (name: string) => /^(?:utilization|clocks|power|temperature)[._]/.test(name);

export const queryLayout = (names: readonly string[]): RowLayout => names.map(cellFor);

function cellFor(column: string): Cell | null {
  const reason = /^clocks_(?:throttle|event)_reasons\.(\w+)$/.exec(column);
  if (reason) return Object.hasOwn(REASON_COLUMNS, reason[1]!) ? REASON_COLUMNS[reason[1]!]! : null;
  return Object.hasOwn(COLUMNS, column) ? COLUMNS[column]! : null;
}
