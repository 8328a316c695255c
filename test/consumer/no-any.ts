// Fails to compile if `any` appears anywhere in what the public functions take and return.
import type {
  DiagnoseOptions,
  diagnose,
  Finding,
  InspectReport,
  inspect,
  Problem,
  Report,
  Run,
  readRun,
  rules,
} from 'whyslow';

type IsAny<T> = 0 extends 1 & T ? true : false;
type Primitive = string | number | bigint | boolean | symbol | null | undefined;
/** Types of the language, whose methods are not ours. */
type Foreign = ArrayBufferView | ArrayBuffer | Date;
/** Deeper than any of our types. */
type Depth = readonly [never, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/** The path of every `any` in T; never if there is none. */
type AnyIn<T, Path extends string = '', D extends number = 10> =
  IsAny<T> extends true
    ? Path extends ''
      ? 'any'
      : Path
    : [D] extends [never]
      ? never
      : T extends Primitive | Foreign
        ? never
        : T extends (...args: infer Args) => infer Result
          ? AnyIn<Args, `${Path}(args)`, Depth[D]> | AnyIn<Result, `${Path}()`, Depth[D]>
          : T extends ReadonlyMap<infer Key, infer Value>
            ? AnyIn<Key, `${Path}<key>`, Depth[D]> | AnyIn<Value, `${Path}<value>`, Depth[D]>
            : T extends readonly (infer Item)[]
              ? AnyIn<Item, `${Path}[]`, Depth[D]>
              : T extends object
                ? { [K in keyof T & string]: AnyIn<T[K], `${Path}.${K}`, Depth[D]> }[keyof T & string]
                : never;

type Never<T extends never> = T;

export type Checked = [
  Never<AnyIn<Report>>,
  Never<AnyIn<Finding>>,
  Never<AnyIn<Problem>>,
  Never<AnyIn<InspectReport>>,
  Never<AnyIn<Run>>,
  Never<AnyIn<DiagnoseOptions>>,
  Never<AnyIn<Awaited<ReturnType<typeof diagnose>>>>,
  Never<AnyIn<Awaited<ReturnType<typeof inspect>>>>,
  Never<AnyIn<Awaited<ReturnType<typeof readRun>>>>,
  Never<AnyIn<typeof rules>>,
];

/** The check itself works: it finds an `any` at any depth. */
// biome-ignore lint/suspicious/noExplicitAny: planted to test the check
type Planted = AnyIn<{ readonly a: readonly { readonly b: () => { readonly c: any } }[] }>;
export const planted: Planted = '.a[].b().c';
