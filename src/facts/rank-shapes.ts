import {
  amount,
  bigint,
  checked,
  column,
  flag,
  list,
  nullable,
  number,
  object,
  oneOf,
  type Shape,
  text,
  whole,
} from '../base/shape.js';
import {
  COLLECTIVE_KINDS,
  type CollectiveGroup,
  MAX_GROUPS,
  type RankCollectives,
} from './rank-collectives.js';
import type { RankTimeline } from './rank-timeline.js';
import { STEP_SOURCES, type StepFacts } from './step-facts.js';
import { TIME_CLASSES, type TimeByClass } from './time-class.js';

/** The shapes of what comparing ranks needs, for facts that were written to a file. */

const f64 = column(Float64Array);
const amounts = column(Float64Array, { least: 0 });
const u8 = column(Uint8Array);

export const timeShape = object<TimeByClass>(
  Object.fromEntries(TIME_CLASSES.map((c) => [c, amount()])) as {
    [K in keyof TimeByClass]: Shape<TimeByClass[K]>;
  },
);

export const stepsShape: Shape<StepFacts> = checked(
  object<StepFacts>({
    source: oneOf(STEP_SOURCES),
    total: whole(),
    count: whole(1),
    first: number(),
    last: number(),
    irregular: flag,
    recorded: amount(),
    periods: list(amount()),
    indices: list(number()),
  }),
  (s) => sameLength(s.count, s.periods, s.indices),
);

const groupShape = object<CollectiveGroup>({
  key: text,
  name: text,
  description: text,
  size: nullable(amount()),
  ranks: nullable(list(whole())),
  named: flag,
});

export const collectivesShape: Shape<RankCollectives> = checked(
  object<RankCollectives>({
    source: oneOf(['trace', 'events', 'phases']),
    baseNs: bigint,
    timed: flag,
    length: whole(),
    group: column(Uint16Array),
    kind: u8,
    sequence: column(Float64Array, { holes: true }),
    peer: column(Int32Array),
    bytes: column(Float64Array, { least: 0, holes: true }),
    dtype: u8,
    start: f64,
    end: f64,
    onDevice: u8,
    step: column(Int32Array),
    exposed: amounts,
    groups: list(groupShape, MAX_GROUPS + 1),
    dtypes: list(text, 256),
    steps: list(number()),
    numbered: flag,
    profilerStart: flag,
    leftOut: whole(),
  }),
  (c) =>
    sameLength(
      c.length,
      c.group,
      c.kind,
      c.sequence,
      c.peer,
      c.bytes,
      c.dtype,
      c.start,
      c.end,
      c.onDevice,
      c.step,
      c.exposed,
    ) ??
    below('group', c.group, c.groups.length) ??
    below('kind', c.kind, COLLECTIVE_KINDS.length) ??
    below('dtype', c.dtype, c.dtypes.length) ??
    below('step', c.step, c.steps.length, -1) ??
    ascending('start', c.start),
);

export const timelineShape: Shape<RankTimeline> = checked(
  object<RankTimeline>({
    length: whole(),
    start: f64,
    end: f64,
    exposed: u8,
    classes: column(Float32Array, { least: 0 }),
    stepFrom: f64,
    stepTo: f64,
  }),
  (t) =>
    sameLength(t.length, t.start, t.end, t.exposed) ??
    sameLength(t.length * TIME_CLASSES.length, t.classes) ??
    sameLength(t.stepFrom.length, t.stepTo) ??
    ascending('start', t.start) ??
    ascending('end', t.end),
);

/** What was measured divides without a rest; floating-point sums differ a little. */
const REST = 0.01;

/** Null: the time of all classes is the time that they divide. */
export function dividesInto(name: string, time: TimeByClass, whole: number): string | null {
  const sum = TIME_CLASSES.reduce((all, c) => all + time[c], 0);
  return Math.abs(sum - whole) <= REST * whole + 1 ? null : `${name} that add up to ${whole}`;
}

/** Null: the columns are as long as they should be. */
export function sameLength(length: number, ...columns: readonly ArrayLike<unknown>[]): string | null {
  return columns.every((c) => c.length === length) ? null : `${length} values in every column`;
}

/** Null: all are indices of a list of this length, or `least` and more. */
export function below(name: string, column: ArrayLike<number>, length: number, least = 0): string | null {
  for (let i = 0; i < column.length; i++)
    if (!(column[i]! < length && column[i]! >= least)) return `${name} below ${length}`;
  return null;
}

/** Null: finite, and none is before the one before it. */
function ascending(name: string, column: Float64Array): string | null {
  for (let i = 0; i < column.length; i++)
    if (!Number.isFinite(column[i]!) || column[i]! < (column[i - 1] ?? -Infinity))
      return `${name} in order of time`;
  return null;
}
