/** Values for torture documents, as JSON text. */

/** mulberry32, by Tommy Ettinger (public domain). */
export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }
  below(n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
  /** True once in n. */
  once(n: number): boolean {
    return this.below(n) === 0;
  }
  shuffled<T>(list: readonly T[]): T[] {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [out[i], out[j]] = [out[j]!, out[i]!];
    }
    return out;
  }
}

/** Text of a key (without quotes) and of its value. */
export type Member = readonly [key: string, value: string];

/** The words between the spaces; a backslash is a backslash. */
function words(text: TemplateStringsArray): string[] {
  return text.raw[0]!.split(' ');
}

const ESCAPED_NAMES = words`q\"uote back\\ \\\" tab\tx sl\/ash \u00e9 \ud83d\ude00 {\"ph\":\"X\"}`;
const LONG_NAMES = [
  'a'.repeat(64),
  'x'.repeat(300),
  `${'x'.repeat(299)}y`,
  `${'x'.repeat(150)}\\"${'x'.repeat(150)}`,
];
export const NAMES = [
  ...['', ' ', 'aten::add', 'void k<{lambda(float)#1}>(int)', 'é raw ünïcode', '日本 😀'],
  ...[
    'raw\ttab',
    'raw\nline',
    '\u0001\u001f\u007f',
    'fifteen bytes..',
    'sixteen bytes...',
    'seventeen bytes..',
  ],
  ...[...ESCAPED_NAMES, ...LONG_NAMES, ',', '}', ']}', '[{'],
];
export const CATEGORIES = [
  '',
  'a_'.repeat(40),
  ...words`cpu_op kernel ac2g fwdbwd cuda_runtime gpu_memcpy q\"c`,
];
/** 40, 402 and 4021 begin alike; 402 and "402" are two processes. */
export const PIDS = words`402 0 "402" "Spans" "" 1234567890123456789 -1 null "\u00e9" 40 4021`;
export const TIDS = [...words`7 402 "7" 139872348723 "é" 7.5 70 [1,2]`, '"stream 7"'];
export const PHASES = [...'XXXXXXXXBEiIMMCstfbne'];
/** Values in place of a number. */
export const NON_NUMBERS = words`NaN -NaN Infinity -Infinity inf -inf nan -nan null "5" "-7.25" "1e3" "5x" true [] {} ""`;
export const DIMS = [
  ...['[[1, 2], [], [3,4,5]]', '[]', '[[[["]"]]], {"a":[1]}]', '[ [ 1,\n2 ] ]', '"[]"'],
  '["float", "", "a\\"]b", "\\\\"]',
];
/** Keys that look like known ones, or have a meaning elsewhere. */
export const DECOYS: readonly Member[] = [
  ['nested', '{"correlation": 9, "x": {"External id": 5, "s": "}"}, "ts": 1}'],
  ['list', '[{"ph": "X", "args": {"correlation": 1}}, "]", "\\""]'],
  ['Call stack', '"a.py(1): f;b.py(2): \\"{[,"'],
  ...['ts', 'dur', 'id', 'tid', 'ph', 'pid', 'cat'].map((key): Member => [key, '"no"']),
  ['args', '{"correlation": 8}'],
  [`${'long key '.repeat(6)}correlation`, '3'],
  ...['Correlation', 'correlation ', 'corr', ''].map((key): Member => [key, '4']),
  ['esc\\"aped', '{"a": "\\\\"}'],
  ['flag', 'true'],
  ['é', '"é"'],
];

const ODD_TIMES = [
  ...words`1.5e3 2.25E+2 12345e-3 1e-3 3.5e0 1.661203465758835e15 0e5 25e-4 24e-4 1e400 5e-400`,
  ...words`-3.5 -0 -0.0005 0.0004 0.0005 0 7 12345678 123456789.25 9999999999999999999 9000000000000000.000`,
];
const ODD_DURATIONS = [
  ...words`4294967.294 4294967.295 4294967.296 1e9 -5.5 -1 9007199254740.993 8999999999999999.999 1.5e-2 3.14159`,
];
const WIDE_IDS = words`4294967295 4294967296 9007199254740993 18446744073709551615 -1 -7 1.5 1e3`;
const EDGE_IDS = words`0 4294967294 12345678 123456789 99999999 007`;
const ODD_FLOATS = words`123456789012 1.5 -2.25 1e30 -1E-7 0.1 -0 123456789012345678 0.30000000000000004 1e999`;
const EDGE_I32 = words`-1 0 -0 7 2147483647 -2147483647 2147483648 -2147483648 -5000000000`;

/** Numbers, mostly usual ones. */
export class Numbers {
  readonly #random: Random;
  /** Most times are close to this one, in microseconds. */
  readonly #epoch: number;

  constructor(random: Random) {
    this.#random = random;
    this.#epoch = random.pick([1661203465758835, 3847277799342, 5, 8999999999000000]);
  }

  time(): string {
    const random = this.#random;
    const us = String(this.#epoch + random.below(1e9));
    const decimals = String(random.below(1000)).padStart(3, '0');
    if (random.once(8))
      return random.pick([...ODD_TIMES, ...NON_NUMBERS, `${us}.12345`, `${us}.1${decimals}5`]);
    return random.pick([
      us,
      `${us}.${decimals}`,
      `${us}.${decimals}`,
      `${us}.${decimals.slice(random.below(3))}`,
    ]);
  }

  duration(): string {
    const random = this.#random;
    if (random.once(6)) return random.pick([...ODD_DURATIONS, ...NON_NUMBERS]);
    return random.pick([
      String(random.below(1e6)),
      `${random.below(1e4)}.${random.below(1000)}`,
      '0',
      '0.001',
    ]);
  }

  /** Few enough that some are equal. */
  smallId(): string {
    return String(this.#random.below(50));
  }

  id(): string {
    const random = this.#random;
    if (random.once(3)) return random.pick([...WIDE_IDS, ...NON_NUMBERS]);
    return random.once(3) ? random.pick(EDGE_IDS) : String(random.below(4e9));
  }

  float(): string {
    const random = this.#random;
    return random.once(2) ? String(random.below(1e9)) : random.pick([...ODD_FLOATS, ...NON_NUMBERS]);
  }

  signed(): string {
    return this.#random.pick([...EDGE_I32, ...EDGE_I32, ...NON_NUMBERS]);
  }
}
