/**
 * Nasty but readable traces from a seed: any order of keys, any white space, escapes, decoys, numbers of every form. The
 * prototype agreed with JSON.parse on 2.3 M real events while three bugs were still in; documents like these found them.
 */

export interface TortureDocument {
  readonly text: string;
  readonly bytes: Uint8Array;
  /** Inside of the traceEvents array, with its closing bracket. */
  readonly inside: Uint8Array;
}

export function tortureDocument(seed: number, events = 60): TortureDocument {
  const torture = new Torture(seed);
  const list = torture.events(events);
  const { before, after } = torture.frame();
  const text = before + list + after;
  const bytes = Buffer.from(text);
  return { text, bytes, inside: bytes.subarray(Buffer.byteLength(before)) };
}

/** Chunk sizes that no rule ties to the document. */
export function randomSizes(seed: number, count: number, max: number): number[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () => 1 + random.below(max));
}

/** mulberry32, by Tommy Ettinger (public domain). */
class Random {
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
    return list[this.below(list.length)];
  }
  /** True once in n. */
  once(n: number): boolean {
    return this.below(n) === 0;
  }
  shuffled<T>(list: readonly T[]): T[] {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [out[i], out[j]] = [out[j], out[i]];
    }
    return out;
  }
}

/** Text of a key (without quotes) and of its value. */
type Member = readonly [key: string, value: string];

const NAMES = [
  ...[
    'aten::add',
    'void k<{lambda(float)#1}>(int)',
    '',
    ' ',
    ',',
    '}',
    ']}',
    '[{',
    '{"ph":"X"}'.replaceAll('"', '\\"'),
  ],
  ...[
    'q\\"uote',
    'back\\\\',
    '\\\\\\"',
    'tab\\tx',
    'sl\\/ash',
    '\\u00e9',
    '\\ud83d\\ude00',
    'é raw ünïcode',
    '日本 😀',
  ],
  ...[`${'x'.repeat(299)}y`, `${'x'.repeat(300)}`, `${'x'.repeat(150)}\\"${'x'.repeat(150)}`, 'a'.repeat(64)],
  ...[
    'raw\ttab',
    'raw\nline',
    '\u0001\u001f\u007f',
    'fifteen bytes..',
    'sixteen bytes...',
    'seventeen bytes..',
  ],
];
const CATEGORIES = [
  'cpu_op',
  'kernel',
  'ac2g',
  'fwdbwd',
  'cuda_runtime',
  'gpu_memcpy',
  '',
  'q\\"c',
  'a_'.repeat(40),
];
const PIDS = [
  '402',
  '0',
  '"402"',
  '"Spans"',
  '""',
  '1234567890123456789',
  '-1',
  'null',
  '"\\u00e9"',
  '40',
  '4021',
];
const TIDS = ['7', '402', '"7"', '"stream 7"', '139872348723', '"é"', '[1, 2]', '7.5', '70'];
const PHASES = [...'XXXXXXXXBEiIMMCstfbne'];
/** What stands where a number should. */
const NON_NUMBERS = [
  'NaN',
  '-NaN',
  'Infinity',
  '-Infinity',
  'inf',
  '-inf',
  'nan',
  'null',
  '"5"',
  'true',
  '[]',
  '{}',
  '""',
];
const DIMS = [
  '[[1, 2], [], [3,4,5]]',
  '[]',
  '[[[["]"]]], {"a":[1]}]',
  '["float", "", "a\\"]b", "\\\\"]',
  '[ [ 1,\n2 ] ]',
  '"[]"',
];
const DECOYS: readonly Member[] = [
  ['nested', '{"correlation": 9, "x": {"External id": 5, "s": "}"}, "ts": 1}'],
  ['list', '[{"ph": "X", "args": {"correlation": 1}}, "]", "\\""]'],
  ['Call stack', '"a.py(1): f;b.py(2): \\"{[,"'],
  ...(['ts', 'dur', 'id', 'tid'] as const).map((key): Member => [key, '5']),
  ...([
    ['ph', '"M"'],
    ['pid', '"no"'],
    ['cat', '"no"'],
    ['args', '{"correlation": 8}'],
  ] as const),
  [`${'long key '.repeat(6)}correlation`, '3'],
  ['Correlation', '4'],
  ['correlation ', '4'],
  ['', '1'],
  ['esc\\"aped', '{"a": "\\\\"}'],
  ['flag', 'true'],
  ['é', '"é"'],
];

interface Place {
  readonly pid: string;
  readonly tid: string;
  readonly ts: string;
}

class Torture {
  readonly #random: Random;
  /** How this document is written; `mixed` changes with every gap. */
  readonly #style: 'compact' | 'kineto' | 'deep' | 'mixed';
  readonly #shuffle: boolean;
  /** Most times lie near each other, in microseconds. */
  readonly #epoch: number;
  #last: Place = { pid: '1', tid: '1', ts: '1' };

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#style = this.#random.pick(['compact', 'kineto', 'deep', 'mixed']);
    this.#shuffle = !this.#random.once(3);
    this.#epoch = this.#random.pick([1661203465758835, 3847277799342, 5, 8999999999000000]);
  }

  frame(): { readonly before: string; readonly after: string } {
    const header = '"schemaVersion": 1, "deviceProperties": [{"name":"H]}200\\"", "id": 0}]';
    const decoy =
      '"metadata": {"traceEvents": [{"ph": "X", "ts": 1}]}, "traceEvent": [], "x": "\\"traceEvents\\": ["';
    return this.#random.pick([
      { before: '[', after: ']' },
      { before: ' \n{"traceEvents":[', after: ']}' },
      { before: `{${header}, ${decoy}, "traceEvents" : [`, after: '\n], "traceName": "x\\"y"}\n' },
      { before: `{${decoy},\n"traceEvents"\n:\n[`, after: ' ] , "a": [ ], "b": { } }' },
    ]);
  }

  events(count: number): string {
    const list = Array.from({ length: count }, () =>
      this.#random.once(5) ? this.#boundFlow() : this.#event(),
    );
    return this.#gap() + list.join(`${this.#gap()},${this.#gap()}`) + this.#gap();
  }

  #gap(): string {
    switch (this.#style) {
      case 'compact':
        return '';
      case 'kineto':
        return '\n  ';
      case 'deep':
        return `\n${' '.repeat(12)}`;
      default:
        return this.#random.pick(['', '', ' ', '\n    ', '\t', '\r\n  ', ' '.repeat(20), ' '.repeat(70)]);
    }
  }

  #object(members: readonly Member[], shuffle = this.#shuffle): string {
    const space = () => (this.#style === 'mixed' ? this.#random.pick(['', '', ' ', '  ']) : '');
    const colon = () =>
      this.#style === 'compact' ? ':' : `${space()}:${this.#style === 'mixed' ? this.#gap() : ' '}`;
    const list = (shuffle ? this.#random.shuffled(members) : members).map(([k, v]) => `"${k}"${colon()}${v}`);
    if (list.length === 0) return this.#random.pick(['{}', '{ }']);
    return `{${this.#gap()}${list.join(`${space()},${this.#gap()}`)}${this.#gap()}}`;
  }

  #event(): string {
    const random = this.#random;
    const place = { pid: random.pick(PIDS), tid: random.pick(TIDS), ts: this.#time() };
    this.#last = place;
    const members: Member[] = [
      ['ph', `"${random.pick(PHASES)}"`],
      ...this.#maybe(9, 'cat', `"${random.pick(CATEGORIES)}"`),
    ];
    members.push(...this.#maybe(20, 'name', `"${random.pick(NAMES)}"`), ...this.#placeMembers(place));
    members.push(...this.#maybe(5, 'dur', this.#duration()), ...this.#maybe(6, 'args', this.#args()));
    if (random.once(6)) members.push(['id', this.#id()]);
    if (random.once(6))
      members.push(['bp', '"e"'], ['s', '"g"'], random.pick(DECOYS.filter(([key]) => key.length > 4)));
    if (random.once(8)) members.push([random.pick(['tts', 'unknown']), random.pick(NON_NUMBERS)]);
    if (random.once(12)) return this.#withDuplicate(members);
    if (random.once(40))
      members.splice(
        0,
        1,
        random.pick<Member>([
          ['ph', '5'],
          ['ph', '"XX"'],
          ['ph', '""'],
          ['pH', '"X"'],
        ]),
      );
    return this.#object(members);
  }

  /** The member, but not always. */
  #maybe(missingOnceIn: number, key: string, value: string): Member[] {
    return this.#random.once(missingOnceIn) ? [] : [[key, value]];
  }

  #placeMembers({ pid, tid, ts }: Place): Member[] {
    return [...this.#maybe(30, 'pid', pid), ...this.#maybe(30, 'tid', tid), ...this.#maybe(40, 'ts', ts)];
  }

  /** A flow at the time and place of the event before it, or nearly. */
  #boundFlow(): string {
    const random = this.#random;
    const { pid, tid, ts } = this.#last;
    const members: Member[] = [
      ['ph', `"${random.pick([...'sft'])}"`],
      ['id', random.once(4) ? this.#id() : this.#smallId()],
    ];
    members.push(
      ['pid', random.once(8) ? random.pick(PIDS) : pid],
      ['tid', tid],
      ['ts', random.once(8) ? this.#time() : ts],
    );
    members.push(
      ['cat', `"${random.pick(['ac2g', 'fwdbwd'])}"`],
      ['name', '"ac2g"'],
      ...this.#maybe(2, 'bp', '"e"'),
    );
    if (random.once(6)) members.push(['args', this.#args()]);
    return this.#object(members);
  }

  /** A key twice: the last one counts, as in JSON.parse. */
  #withDuplicate(members: readonly Member[]): string {
    const extra = this.#random.pick<Member>([
      ...([
        ['ts', '17'],
        ['dur', '2.5'],
        ['pid', '9'],
        ['tid', '"nine"'],
        ['name', '"twice"'],
      ] as const),
      ...([
        ['cat', '"twice"'],
        ['ph', '"i"'],
        ['other', '[{}]'],
      ] as const),
    ]);
    // First, so that nothing tolerated in the other one is lost: JSON.parse would not show it to the reference.
    return this.#object([extra, ...this.#random.shuffled(members)], false);
  }

  #time(): string {
    const random = this.#random;
    const us = String(this.#epoch + random.below(1e9));
    const decimals = String(random.below(1000)).padStart(3, '0');
    if (!random.once(8))
      return random.pick([
        us,
        `${us}.${decimals}`,
        `${us}.${decimals}`,
        `${us}.${decimals.slice(0, 1 + random.below(2))}`,
      ]);
    const exponents = [
      '1.5e3',
      '2.25E+2',
      '12345e-3',
      '1e-3',
      '3.5e0',
      '1.661203465758835e15',
      '0e5',
      '25e-4',
      '24e-4',
    ];
    const odd = [
      '-3.5',
      '-0',
      '-0.0005',
      '0.0004',
      '0.0005',
      '0',
      '7',
      '12345678',
      '123456789.25',
      '9999999999999999999',
      '1e400',
    ];
    return random.pick([
      `${us}.12345`,
      `${us}.1${decimals}5`,
      ...exponents,
      ...odd,
      ...NON_NUMBERS,
      '9000000000000000.000',
    ]);
  }

  #duration(): string {
    const random = this.#random;
    const plain = [String(random.below(1e6)), `${random.below(1e4)}.${random.below(1000)}`, '0', '0.001'];
    const wide = [
      '4294967.294',
      '4294967.295',
      '4294967.296',
      '1e9',
      '-5.5',
      '-1',
      '9007199254740.993',
      '8999999999999999.999',
    ];
    return random.once(6) ? random.pick([...wide, ...NON_NUMBERS, '1.5e-2', '3.14159']) : random.pick(plain);
  }

  #smallId(): string {
    return String(this.#random.below(50));
  }

  #id(): string {
    const random = this.#random;
    const wide = [
      '4294967295',
      '4294967296',
      '9007199254740993',
      '18446744073709551615',
      '-1',
      '-7',
      '1.5',
      '1e3',
      '0x1f',
    ];
    const edge = ['0', '4294967294', '12345678', '123456789', '99999999'];
    if (random.once(3)) return random.pick([...wide.slice(0, 8), ...NON_NUMBERS]);
    return random.once(3) ? random.pick(edge) : String(random.below(4e9));
  }

  #args(): string {
    const random = this.#random;
    if (random.once(8))
      return random.pick(['null', '[]', '{}', '{ }', '"text"', '"{"', '5', 'NaN', '[1,{"ph":"X"}]', 'true']);
    const members = [...this.#linkArgs(), ...this.#groupArgs()];
    for (let n = random.below(4); n > 0; n--) members.push(random.pick(DECOYS));
    if (random.once(6)) members.push(['blocks per SM', random.pick([...NON_NUMBERS, '1e+20', '3.25'])]);
    // The reference keeps one of each; which one would depend on the order.
    return this.#object([...new Map(members)].map(([key, value]): Member => [key, value]));
  }

  #linkArgs(): Member[] {
    const random = this.#random;
    const link = () => (random.once(4) ? this.#id() : this.#smallId());
    const members: Member[] = [];
    if (!random.once(3)) members.push([random.once(4) ? 'external id' : 'External id', link()]);
    if (random.once(2)) members.push(['correlation', link()]);
    return members;
  }

  /** Arguments of one or two kinds of events. */
  #groupArgs(): Member[] {
    const random = this.#random;
    const groups = [
      this.#gpuArgs,
      this.#opArgs,
      this.#pythonArgs,
      this.#collectiveArgs,
      this.#syncArgs,
      this.#memoryArgs,
    ];
    const members = random.pick(groups).call(this);
    if (random.once(4)) members.push(...random.pick(groups).call(this));
    if (random.once(5))
      members.push(
        ['name', random.pick(['"thread 1 (x)"', '"p\\"y"', '"é"'])],
        ['sort_index', this.#float()],
      );
    if (random.once(12)) members.push(['labels', '"CPU"']);
    return random.once(6) ? [] : members;
  }

  #float(): string {
    const random = this.#random;
    const odd = [
      '123456789012',
      '1.5',
      '-2.25',
      '1e30',
      '-1E-7',
      '0.1',
      '-0',
      '123456789012345678',
      '0.30000000000000004',
      '1e999',
    ];
    return random.once(2) ? String(random.below(1e9)) : random.pick([...odd, ...NON_NUMBERS]);
  }

  #signed(): string {
    const edge = [
      '-1',
      '0',
      '-0',
      '7',
      '2147483647',
      '-2147483647',
      '2147483648',
      '-2147483648',
      '-5000000000',
    ];
    return this.#random.pick([...edge, ...edge, ...NON_NUMBERS]);
  }

  #gpuArgs(): Member[] {
    const random = this.#random;
    const members: Member[] = [
      ['device', this.#signed()],
      ['stream', this.#signed()],
      ['queued', '0'],
      ['context', '1'],
    ];
    members.push(['grid', random.pick(['[1, 1, 1]', '[128,2,1]', '[ ]'])], ['block', '[32, 1, 1]']);
    members.push(
      ['registers per thread', this.#id()],
      ['shared memory', this.#id()],
      ['graph node id', this.#id()],
    );
    members.push(
      ['est. achieved occupancy %', this.#float()],
      ['bytes', this.#float()],
      ['memory bandwidth (GB/s)', this.#float()],
    );
    return random.shuffled(members).slice(0, 1 + random.below(members.length));
  }

  #opArgs(): Member[] {
    const random = this.#random;
    const members: Member[] = [
      ['Sequence number', this.#id()],
      ['Fwd thread id', this.#smallId()],
      ['Ev Idx', '3'],
    ];
    members.push(
      [random.pick(['Input Dims', 'Input dims']), random.pick(DIMS)],
      ['Input type', random.pick(DIMS)],
    );
    return members;
  }

  #pythonArgs(): Member[] {
    return [
      ['Python id', this.#smallId()],
      ['Python parent id', this.#random.pick(['null', '12', '18446744073709551615'])],
      ['Python module id', this.#id()],
    ];
  }

  #collectiveArgs(): Member[] {
    const random = this.#random;
    const members: Member[] = [
      ['Collective name', '"allreduce"'],
      ['dtype', '"Float"'],
      ['Process Group Name', '"0"'],
    ];
    members.push(
      ['Process Group Ranks', random.pick(['"[0, 1]"', '[0, 1]'])],
      ['Process Group Description', '"default_pg"'],
    );
    members.push(
      ['Comms Id', '18446744073709551615'],
      ['Is asynchronized op', random.pick(['true', 'false'])],
    );
    members.push(['In split size', '[]'], ['Out split size', '"[]"'], ['In msg nelems', this.#float()]);
    members.push(
      ['Out msg nelems', this.#float()],
      ['Group size', '8'],
      ['Rank', '0'],
      ['Src Rank', '-1'],
      ['Dst Rank', '3'],
    );
    return [...members, ['Seq', this.#float()], ['Global rank start', '0'], ['Global rank stride', '1']];
  }

  #syncArgs(): Member[] {
    const members: Member[] = [
      ['cuda_sync_kind', '"Event Sync"'],
      ['wait_on_stream', this.#signed()],
    ];
    return [
      ...members,
      ['wait_on_cuda_event_id', this.#signed()],
      ['wait_on_cuda_event_record_corr_id', this.#signed()],
    ];
  }

  #memoryArgs(): Member[] {
    const members: Member[] = [
      ['Bytes', this.#float()],
      ['Addr', '140234567890944'],
      ['Total Allocated', this.#float()],
    ];
    return [
      ...members,
      ['Total Reserved', this.#float()],
      ['Device Type', this.#signed()],
      ['Device Id', this.#signed()],
    ];
  }
}
