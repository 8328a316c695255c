import { stepNumber } from '../../model/host-names.js';
import type { EventColumns } from './event-columns.js';
import { KIND } from './event-columns.js';
import type { NsysStrings } from './strings.js';

interface Series {
  readonly rows: number[];
  readonly numbers: number[];
  time: number;
  end: number;
  overlaps: boolean;
}

/** Ranges are steps only if there are several of them. */
const LEAST_STEPS = 2;

/**
 * Finds the NVTX ranges that mark steps: one after the other on a thread, with names such as `step 12` or `iteration`. Of
 * several series the one that covers most time counts. They get the name that torch gives to steps. False: there are none.
 */
export function markSteps(
  events: EventColumns,
  strings: NsysStrings,
  isKept: (process: number) => boolean,
): boolean {
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
    };
    all.set(key, known);
    known.overlaps ||= columns.ts[row]! < known.end;
    known.end = columns.ts[row]! + columns.dur[row]!;
    known.time += columns.dur[row]!;
    known.rows.push(row);
    known.numbers.push(number);
  }
  const usable = [...all.values()].filter((s) => !s.overlaps && s.rows.length >= LEAST_STEPS);
  const best = usable.reduce<Series | null>((a, b) => (a && a.time >= b.time ? a : b), null);
  if (!best) return false;
  const numbered = best.numbers.every((n, i) => i === 0 || n > best.numbers[i - 1]!);
  for (const [i, row] of best.rows.entries()) {
    columns.name[row] = strings.ofText(`ProfilerStep#${numbered ? best.numbers[i] : i}`);
    columns.kind[row] = KIND.user_annotation;
  }
  return true;
}
