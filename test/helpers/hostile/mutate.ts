import type { Random } from '../simulate/random.js';

export const pick = <T>(random: Random, from: readonly T[]): T =>
  from[Math.floor(random.next() * from.length)]!;
export const below = (random: Random, n: number) => Math.floor(random.next() * n);

const deep = (depth: number) => {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { a: value };
  return value;
};

/** What a field may hold instead of what it should. */
export const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -0, 1, -1, 0.5, 7, 1e3, 1e9, 1e15, -1e15, 1e300, -1e308, 5e-324],
  ...[2 ** 31, 2 ** 32, 2 ** 53, 2 ** 63, -(2 ** 31), 65_536, 1_790_857_026e9],
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1e999',
    '0x10',
    '[0, 1]',
    '[',
    'true',
    'X',
    'kernel',
    'ProfilerStep#9',
    'ProfilerStep#-1',
  ],
  ...[
    '\u0000',
    '\x1b[2J',
    '\ud800',
    '\u202e',
    '漢',
    'a'.repeat(300),
    'b'.repeat(20_000),
    'x\ny',
    '__proto__',
    '../../etc/passwd',
  ],
  ...[[], {}, [[]], [null], { toString: 1, valueOf: 1 }, { length: -1 }, { rank: 1 }, { constructor: {} }],
  ...[[0, 1, 2, 3], ['a', 1, null], Array.from({ length: 300 }, (_, i) => i), deep(40), deep(600)],
];
/** Not JSON, but some writers write them. */
const TOKENS = [
  'NaN',
  'Infinity',
  '-Infinity',
  '1e999',
  '-1e999',
  '01',
  '+1',
  '.5',
  '1.',
  'undefined',
  '9'.repeat(400),
];

/** Changes, removes, doubles or repeats a few fields anywhere below `value`. */
export function mutateTree(value: unknown, random: Random, times: number): void {
  for (let i = 0; i < times; i++) mutateField(value, random);
}

/** How often something is repeated; most often not much. */
export const timesRepeated = (random: Random) => 2 + Math.floor(1500 * random.next() ** 6);

/** Copies of a value whose numbers grow, or are the same in all. */
function copies(value: unknown, random: Random): unknown[] {
  const by = pick(random, [0, 1, 1, 1000, -1]);
  const moved = (v: unknown, i: number): unknown => {
    if (typeof v === 'number') return v + i * by;
    if (typeof v !== 'object' || v === null) return v;
    if (Array.isArray(v)) return v.map((item) => moved(item, i));
    return Object.fromEntries(Object.entries(v).map(([key, item]) => [key, moved(item, i)]));
  };
  const size = JSON.stringify(value)?.length ?? 1;
  // Large ones less often: a file stays small.
  const times = Math.min(timesRepeated(random), Math.ceil(1e6 / size));
  // The same object: a pickle then has it once, and refers to it.
  return Array.from({ length: times }, (_, i) => (by === 0 ? value : moved(value, i + 1)));
}

function mutateField(root: unknown, random: Random): void {
  let parent = root as Record<string, unknown>;
  for (;;) {
    const keys = Object.keys(parent);
    if (keys.length === 0) return;
    const key = pick(random, keys);
    const child = parent[key];
    const isLeaf = typeof child !== 'object' || child === null;
    // The further down, the more fields: most changes should be there.
    if (!isLeaf && random.next() < 0.85) {
      parent = child as Record<string, unknown>;
      continue;
    }
    return change(parent, key, random);
  }
}

function change(parent: Record<string, unknown>, key: string, random: Random): void {
  const kind = random.next();
  if (Array.isArray(parent) && kind < 0.3) {
    if (kind < 0.12) parent.splice(Number(key), 1);
    else if (kind < 0.24) parent.push(structuredClone(parent[Number(key)]));
    else parent.splice(Number(key), 0, ...copies(parent[Number(key)], random));
  } else if (kind < 0.1) delete parent[key];
  else if (kind < 0.3 && typeof parent[key] === 'number') parent[key] = scaled(parent[key], random);
  // A copy: a later change may be inside it.
  else parent[key] = structuredClone(pick(random, VALUES));
}

const scaled = (value: number, random: Random) => value * pick(random, [-1, 0, 1e-6, 0.5, 2, 1e3, 1e6, 1e12]);

/** Replaces a number of a JSON text by something that is not JSON, or gives a key a second value. */
export function mutateToken(text: string, random: Random): string {
  const at = below(random, text.length);
  if (random.next() < 0.3) return repeatKey(text, at, random);
  const found = /-?\d+(?:\.\d+)?/.exec(text.slice(at));
  if (!found) return text;
  const start = at + found.index;
  return text.slice(0, start) + pick(random, TOKENS) + text.slice(start + found[0].length);
}

function repeatKey(text: string, from: number, random: Random): string {
  const found = /"[^"\\]{1,80}"\s*:/.exec(text.slice(from));
  if (!found) return text;
  const at = from + found.index;
  return `${text.slice(0, at)}${found[0]}${JSON.stringify(pick(random, VALUES))},${text.slice(at)}`;
}

/** Flips, cuts, repeats or inserts bytes. */
export function mutateBytes(bytes: Buffer, random: Random): Buffer {
  if (bytes.length === 0) return bytes;
  const at = below(random, bytes.length);
  const end = Math.min(bytes.length, at + 1 + below(random, 40));
  switch (below(random, 5)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    case 3:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([below(random, 256)]), bytes.subarray(at)]);
    default: {
      const copy = Buffer.from(bytes);
      for (let i = 0; i <= below(random, 6); i++) copy[below(random, copy.length)] = below(random, 256);
      return copy;
    }
  }
}
