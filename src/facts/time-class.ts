import { type Ns, ns, type Share } from '../base/units.js';

/** Every instant of a step belongs to exactly one of these classes. The report uses the same names. */
export const TIME_CLASSES = [
  'compute',
  'comms_transfer',
  'comms_wait',
  'copy',
  'idle_data',
  'idle_sync',
  'idle_compile',
  'idle_comms',
  'idle_host',
  'idle_other',
] as const;
export type TimeClass = (typeof TIME_CLASSES)[number];
export type TimeByClass = Readonly<Record<TimeClass, Ns>>;
export type SharesByClass = Readonly<Record<TimeClass, Share>>;

/** Time classes as people call them. */
export const CLASS_NAMES: Readonly<Record<TimeClass, string>> = {
  compute: 'compute',
  comms_transfer: 'transfer',
  comms_wait: 'waiting for ranks',
  copy: 'copy',
  idle_data: 'input wait',
  idle_sync: 'sync',
  idle_compile: 'compile',
  idle_comms: 'collective wait',
  idle_host: 'host',
  idle_other: 'other',
};

function perClass<T extends number>(of: (c: TimeClass) => number): Readonly<Record<TimeClass, T>> {
  const time: Partial<Record<TimeClass, number>> = {};
  for (const c of TIME_CLASSES) time[c] = of(c);
  return time as Record<TimeClass, T>;
}

/** A time for each class. */
export const totals = (of: (c: TimeClass) => number): TimeByClass => perClass<Ns>(of);

export const sumOfClasses = (time: TimeByClass): Ns => ns(TIME_CLASSES.reduce((sum, c) => sum + time[c], 0));

/** Shares that add up to 1; all 0 where no time passed. */
export function sharesOfClasses(time: TimeByClass): SharesByClass {
  const sum = sumOfClasses(time);
  return perClass<Share>((c) => (sum > 0 ? time[c] / sum : 0));
}

/** How time accounting counts a piece of GPU work. `move`: fills, and copies inside the device. Numbers fit in a column. */
export const WorkSort = { compute: 0, comms: 1, toDevice: 2, toHost: 3, move: 4 } as const;
