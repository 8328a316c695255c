import { sameBytes } from '../common/text.js';
import { argumentCodes } from '../common/trace-rows/schema.js';

/** What to do with an argument, in addition to the codes of `argumentCodes`. */
export const KEY = {
  unknown: 0,
  memoryKind: -1,
  arch: -2,
} as const;

/** What an argument says about its event. */
export const FLAG = {
  none: 0,
  sync: 1,
  /** Only PyTorch writes it. */
  torch: 2,
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
  sample: same(''),
} as const;

const ONLY_IN_TORCH = [
  ...[
    'cbid',
    'Python id',
    'Python parent id',
    'Python module id',
    'Sequence number',
    'Input Dims',
    'Input type',
  ],
  ...['Collective name', 'External id', 'Record function id', 'Ev Idx', 'grid', 'copy kind'],
];
const FLAGS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(ONLY_IN_TORCH.map((name) => [name, FLAG.torch])),
  cuda_sync_kind: FLAG.sync | FLAG.torch,
};

const OWN: Readonly<Record<string, number>> = {
  'memory kind': KEY.memoryKind,
  arch: KEY.arch,
  // The viewer takes the names of Kineto for numbers, and here all values are texts.
  'device id': CODE.device,
  'stream id': CODE.stream,
  registers_per_thread: same('registers per thread'),
};

/** From the name of an argument to what it means, without making a string of its bytes. */
export class ArgumentKeys {
  /** By length, first and last byte. */
  readonly #byBytes = new Map<number, { readonly bytes: Uint8Array; readonly argument: Argument }[]>();

  constructor() {
    for (const name of new Set([...CODES.keys(), ...Object.keys(FLAGS), ...Object.keys(OWN)])) {
      const code = OWN[name] ?? CODES.get(name) ?? KEY.unknown;
      const argument = { code, flags: FLAGS[name] ?? FLAG.none };
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
}

const keyOf = (b: Uint8Array, from: number, to: number): number =>
  ((to - from) << 16) | ((b[from] ?? 0) << 8) | (b[to - 1] ?? 0);
