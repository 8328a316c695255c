import { sameBytes } from '../common/same-bytes.js';
import { argumentCodes } from '../common/trace-rows/schema.js';

/** What to do with an argument, beside the codes of `argumentCodes`. */
export const KEY = {
  unknown: 0,
  memoryKind: -1,
  arch: -2,
  /** All arguments of an event, as JSON without braces: Kineto's own builder. */
  metadata: -3,
} as const;

/** What an argument says about its event. */
export const FLAG = {
  none: 0,
  /** A call of CUDA. */
  call: 1,
  sync: 2,
  python: 4,
  /** Only operators have it. */
  operator: 8,
  /** Only PyTorch writes it. */
  torch: 16,
  kernel: 32,
  copy: 64,
} as const;

export interface Argument {
  readonly code: number;
  /** One or more of FLAG. */
  readonly flags: number;
}
const UNKNOWN: Argument = { code: KEY.unknown, flags: FLAG.none };

const CODES = argumentCodes();
const same = (name: string): number => CODES.get(name)!;

/** Codes that the reader itself sets. */
export const CODE = {
  external: same('External id'),
  correlation: same('correlation'),
  stream: same('stream'),
  device: same('device'),
  grid: same('grid'),
  block: same('block'),
} as const;

const FLAGS: Readonly<Record<string, number>> = {
  cbid: FLAG.call | FLAG.torch,
  cuda_sync_kind: FLAG.sync | FLAG.torch,
  'Python id': FLAG.python | FLAG.torch,
  'Python parent id': FLAG.python | FLAG.torch,
  'Python module id': FLAG.python | FLAG.torch,
  'Sequence number': FLAG.operator | FLAG.torch,
  'Input Dims': FLAG.operator | FLAG.torch,
  'Input type': FLAG.operator | FLAG.torch,
  'Collective name': FLAG.operator | FLAG.torch,
  'External id': FLAG.torch,
  'Record function id': FLAG.torch,
  'Ev Idx': FLAG.torch,
  grid: FLAG.kernel | FLAG.torch,
  'copy kind': FLAG.copy | FLAG.torch,
};

const OWN: Readonly<Record<string, number>> = {
  'memory kind': KEY.memoryKind,
  arch: KEY.arch,
  metadata: KEY.metadata,
  // The viewer takes the names of Kineto for numbers, and here all values are texts.
  'device id': CODE.device,
  'stream id': CODE.stream,
  registers_per_thread: same('registers per thread'),
  correlation_id: CODE.correlation,
};

/** From the name of an argument to what it means, without making a string of its bytes. */
export class ArgumentKeys {
  readonly #byName = new Map<string, Argument>();
  /** By length, first and last byte. */
  readonly #byBytes = new Map<number, { readonly bytes: Uint8Array; readonly argument: Argument }[]>();

  constructor() {
    for (const name of new Set([...CODES.keys(), ...Object.keys(FLAGS), ...Object.keys(OWN)])) {
      const code = OWN[name] ?? CODES.get(name) ?? KEY.unknown;
      const argument = { code, flags: FLAGS[name] ?? FLAG.none };
      this.#byName.set(name, argument);
      const bytes = Buffer.from(name);
      const key = keyOf(bytes, 0, bytes.length);
      this.#byBytes.set(key, [...(this.#byBytes.get(key) ?? []), { bytes, argument }]);
    }
  }

  find(b: Uint8Array, from: number, to: number): Argument {
    const candidates = this.#byBytes.get(keyOf(b, from, to));
    if (candidates)
      for (const { bytes, argument } of candidates)
        if (bytes.length === to - from && sameBytes(bytes, 0, bytes.length, b, from)) return argument;
    return UNKNOWN;
  }

  named(name: string): Argument {
    return this.#byName.get(name) ?? UNKNOWN;
  }
}

const keyOf = (b: Uint8Array, from: number, to: number): number =>
  ((to - from) << 16) | ((b[from] ?? 0) << 8) | (b[to - 1] ?? 0);
