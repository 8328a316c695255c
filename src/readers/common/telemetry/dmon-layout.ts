import { type Cell, day, figure, index, time } from './sample.js';

/** What each cell of a line holds; null: nothing that is kept. */
export type RowLayout = readonly (Cell | null)[];

/** Columns of `nvidia-smi dmon` by name. Which ones there are, and their order, depends on options and drivers. */
const COLUMNS: Readonly<Record<string, Cell>> = {
  date: day,
  time,
  gpu: index,
  pwr: figure('power'),
  gtemp: figure('temperature'),
  temp: figure('temperature'),
  sm: figure('utilization'),
  mem: figure('memoryUtilization'),
  pclk: figure('smClock'),
  mclk: figure('memoryClock'),
  pviol: figure('powerCap', 0.01),
  tviol: figure('thermal'),
};
/** Most drivers write thermal violations as 0 or 1; some in percent, as the units then say. */
const THERMAL_PERCENT = figure('thermal', 0.01);

const UNITS = /^(?:idx|w|c|%|mhz|bool|mb|mb\/s|errs|gb\/s|yyyymmdd|hh:mm:ss|-|na|#)$/i;

export const wordsOf = (line: string): string[] => line.split(/[\s,]+/).filter((word) => word !== '');

/** The column names in a line that starts with `#`; null for a line of units, or anything else. */
export function dmonNames(line: string): string[] | null {
  if (!line.startsWith('#')) return null;
  const names = wordsOf(line.replace(/^[#\s]+/, '')).map((word) => word.toLowerCase());
  // `pmon` has one line per process, with the share of that process.
  return names.includes('gpu') && !names.includes('pid') ? names : null;
}

/** The units below the names; null when the line is not a line of units. */
export function dmonUnits(line: string): string[] | null {
  if (!line.startsWith('#')) return null;
  const units = wordsOf(line.replace(/^[#\s]+/, ''));
  return units.length > 0 && units.every((u) => UNITS.test(u)) ? units : null;
}

export function dmonLayout(names: readonly string[], units: readonly string[] | null): RowLayout {
  return names.map((name, i) => {
    if (name === 'tviol' && units?.[i] === '%') return THERMAL_PERCENT;
    return Object.hasOwn(COLUMNS, name) ? COLUMNS[name]! : null;
  });
}

export function knownColumns(names: readonly string[]): number {
  return names.filter((name) => Object.hasOwn(COLUMNS, name)).length;
}
