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
export type TimeByClass = Readonly<Record<TimeClass, number>>;

/** Builds a value per class. */
export function totals(of: (c: TimeClass) => number): TimeByClass {
  return Object.fromEntries(TIME_CLASSES.map((c) => [c, of(c)])) as unknown as TimeByClass;
}

/** The sum over all classes, in ns. */
export function sumOfClasses(time: TimeByClass): number {
  return TIME_CLASSES.reduce((ns, c) => ns + time[c], 0);
}
