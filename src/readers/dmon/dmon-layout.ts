import { type Cell, day, figure, index, time } from './sample.js';

/** What each place of a line holds; null: nothing that is kept. */
export type RowLayout = readonly (Cell | null)[];

/** Columns of `nvidia-smi dmon` by name; their order and which there are changes with options and drivers. */
const COLUMNS: Readonly<Record<string, Cell>> = {
  ...{ date: day, time, gpu: index },
  ...{ pwr: figure('power'), gtemp: figure('temperature'), temp: figure('temperature') },
  ...{ sm: figure('utilisation'), mem: figure('memoryUtilisation') },
  ...{ pclk: figure('smClock'), mclk: figure('memoryClock') },
  ...{ pviol: figure('powerCap', 0.01), tviol: figure('thermal') },
};
/** Drivers write thermal violations as yes or no; where the units say per cent they are that. */
const THERMAL_PERCENT = figure('thermal', 0.01);

const UNITS = /^(?:idx|w|c|%|mhz|bool|mb|mb\/s|errs|gb\/s|yyyymmdd|hh:mm:ss|-|na|#)$/i;

export const wordsOf = (line: string): string[] => line.split(/[\s,]+/).filter((word) => word !== '');

/** The names of columns in a line that starts with `#`; null for one of units, or anything else. */
export function dmonNames(line: string): string[] | null {
  if (!line.startsWith('#')) return null;
  const names = wordsOf(line.replace(/^[#\s]+/, '')).map((word) => word.toLowerCase());
  // Processes (`pmon`) have a line each, with the share of one process: another thing.
  return names.includes('gpu') && !names.includes('pid') ? names : null;
}

/** The units below the names; null when the line is none of units. */
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

/** Enough of them to be sure that it is this and no other table with a comment. */
export function knownColumns(names: readonly string[]): number {
  return names.filter((name) => Object.hasOwn(COLUMNS, name)).length;
}
