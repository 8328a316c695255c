import type { NumericArray } from './columns.js';

/**
 * Describes plain data that comes from a file, so that nothing else gets in: a shape takes what was parsed and returns the
 * value, or throws ShapeError. Every text and list is bounded.
 */
export type Shape<T> = (value: unknown, columns: ColumnStore) => T;

/** Numeric columns are stored next to the data, which refers to them by number. Throws ShapeError when there is no such column. */
export interface ColumnStore {
  column(index: number): NumericArray;
}

/** The data is not of the shape. The path grows from the inside: `facts.steps.count`. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';

  constructor(
    readonly expected: string,
    readonly path: string = '',
  ) {
    super(path === '' ? `expected ${expected}` : `${path}: expected ${expected}`);
  }

  inside(key: string | number): ShapeError {
    return new ShapeError(this.expected, this.path === '' ? `${key}` : `${key}.${this.path}`);
  }
}

/** Names of C++ templates reach 100 KB. What they are stands at the front. */
export const MAX_TEXT = 1 << 14;
const MAX_LIST = 1 << 20;

/** Nothing is counted or timed beyond this: 30 years in ns. */
const MOST = 1e18;

/** A finite number. A file that says otherwise was not written by a measurement. */
export function number<T extends number = number>(least = -MOST): Shape<T> {
  return (value) =>
    typeof value === 'number' && value >= least && value <= MOST
      ? (value as T)
      : wrong(least === 0 ? 'a number that is not negative' : 'a number');
}

/** A duration, a count, a number of bytes. */
export const amount = <T extends number = number>(): Shape<T> => number<T>(0);

export function whole(minimum = 0, maximum = Number.MAX_SAFE_INTEGER): Shape<number> {
  return (value) => {
    const isIn = Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum;
    return isIn ? (value as number) : wrong(`a whole number from ${minimum} to ${maximum}`);
  };
}

export const text: Shape<string> = (value) =>
  typeof value === 'string' ? value.slice(0, MAX_TEXT) : wrong('a text');

export const flag: Shape<boolean> = (value) => (typeof value === 'boolean' ? value : wrong('true or false'));

export const bigint: Shape<bigint> = (value) =>
  typeof value === 'string' && /^-?\d{1,30}$/.test(value) ? BigInt(value) : wrong('a whole number as text');

export const oneOf =
  <T extends string>(names: readonly T[]): Shape<T> =>
  (value) =>
    names.includes(value as T) ? (value as T) : wrong(`one of ${names.slice(0, 5).join(', ')} …`);

export const exactly =
  <T extends string | boolean | null>(only: T): Shape<T> =>
  (value) =>
    value === only ? only : wrong(`${only}`);

export const nullable =
  <T>(shape: Shape<T>): Shape<T | null> =>
  (value, columns) =>
    value === null ? null : shape(value, columns);

export const list =
  <T>(shape: Shape<T>, most = MAX_LIST): Shape<readonly T[]> =>
  (value, columns) => {
    if (!Array.isArray(value) || value.length > most) return wrong(`a list of at most ${most} entries`);
    const read = new Array<T>(value.length);
    for (let i = 0; i < value.length; i++) read[i] = within(i, shape, value[i], columns);
    return read;
  };

/** Keys are texts of the data. */
export const table =
  <T>(shape: Shape<T>): Shape<Readonly<Record<string, T>>> =>
  (value, columns) =>
    Object.fromEntries(
      Object.entries(fieldsOf(value)).map(([key, item]) => [
        key.slice(0, MAX_TEXT),
        within(key, shape, item, columns),
      ]),
    );

/** The type has exactly these fields: a field that is added to it must be added here. */
export type ShapesOf<T> = { readonly [K in keyof T]-?: Shape<T[K]> };

export function object<T>(shapes: ShapesOf<T>): Shape<T> {
  const shapeOf = new Map(Object.entries(shapes) as [string, Shape<unknown>][]);
  return (value, columns) => {
    const fields = fieldsOf(value);
    const read: Record<string, unknown> = {};
    // Fields keep the order that they were written in, so that what is printed is the same too.
    for (const key of Object.keys(fields)) {
      const shape = shapeOf.get(key);
      if (shape) read[key] = within(key, shape, fields[key], columns);
    }
    for (const key of shapeOf.keys()) if (!Object.hasOwn(read, key)) throw new ShapeError('a value', key);
    return read as T;
  };
}

/** A column of this type with finite numbers, written as its number. `holes`: NaN stands for what is not known. */
export const column =
  <T extends NumericArray>(
    type: new (length: number) => T,
    { least = -MOST, holes = false } = {},
  ): Shape<T> =>
  (value, columns) => {
    const read = columns.column(whole()(value, columns));
    if (!(read instanceof type)) return wrong(type.name);
    for (let i = 0; i < read.length; i++) {
      const n = read[i]!;
      if (!(n >= least && n <= MOST) && !(holes && Number.isNaN(n)))
        return wrong('numbers of a possible size');
    }
    return read;
  };

/** What fields of a value say about each other. */
export const checked =
  <T>(shape: Shape<T>, check: (value: T) => string | null): Shape<T> =>
  (value, columns) => {
    const read = shape(value, columns);
    const fault = check(read);
    return fault === null ? read : wrong(fault);
  };

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Readonly<Record<string, unknown>>) : wrong('an object');
}

function within<T>(key: string | number, shape: Shape<T>, value: unknown, columns: ColumnStore): T {
  try {
    return shape(value, columns);
  } catch (error) {
    throw error instanceof ShapeError ? error.inside(key) : error;
  }
}

function wrong(expected: string): never {
  throw new ShapeError(expected);
}
