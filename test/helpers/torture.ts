/**
 * Nasty but readable traces from a seed: any order of keys, any white space, escapes, decoys, numbers of every form. The
 * prototype agreed with JSON.parse on 2.3 M real events while three bugs were still in; documents like these found them.
 */
import { tortureArgs } from './torture-args.js';
import {
  CATEGORIES,
  DECOYS,
  type Member,
  NAMES,
  NON_NUMBERS,
  Numbers,
  PHASES,
  PIDS,
  Random,
  TIDS,
} from './torture-values.js';

export interface TortureDocument {
  readonly text: string;
  readonly bytes: Uint8Array;
  /** Inside of the traceEvents array, with its closing bracket and all after it. */
  readonly inside: Uint8Array;
}

export function tortureDocument(seed: number, events = 60): TortureDocument {
  const torture = new Torture(new Random(seed));
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

interface Place {
  readonly pid: string;
  readonly tid: string;
  readonly ts: string;
}

const HEADER = '"schemaVersion": 1, "deviceProperties": [{"name":"H]}200\\"", "id": 0}]';
const DECOY_ARRAY = '"metadata": {"traceEvents": [{"ph": "X", "ts": 1}]}, "x": "\\"traceEvents\\": ["';

class Torture {
  readonly #random: Random;
  readonly #numbers: Numbers;
  /** How this document is written; `mixed` changes with every gap. */
  readonly #style: 'compact' | 'kineto' | 'deep' | 'mixed';
  readonly #shuffle: boolean;
  #last: Place = { pid: '1', tid: '1', ts: '1' };

  constructor(random: Random) {
    this.#random = random;
    this.#numbers = new Numbers(random);
    this.#style = random.pick(['compact', 'kineto', 'deep', 'mixed']);
    this.#shuffle = !random.once(3);
  }

  frame(): { readonly before: string; readonly after: string } {
    return this.#random.pick([
      { before: '[', after: ']' },
      { before: ' \n{"traceEvents":[', after: ']}' },
      { before: `{${HEADER}, ${DECOY_ARRAY}, "traceEvents" : [`, after: '\n], "traceName": "x\\"y"}\n' },
      { before: `{${DECOY_ARRAY},\n"traceEvents"\n:\n[`, after: ' ] , "a": [ ], "b": { } }' },
    ]);
  }

  events(count: number): string {
    let text = this.#gap();
    for (let i = 0; i < count; i++) {
      if (i > 0) text += `${this.#gap()},${this.#gap()}`;
      text += this.#random.once(5) ? this.#boundFlow() : this.#event();
    }
    return text + this.#gap();
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

  #colon(): string {
    if (this.#style === 'compact') return ':';
    return this.#style === 'mixed' ? `${this.#random.pick(['', '', ' '])}:${this.#gap()}` : ': ';
  }

  #object(members: readonly Member[], shuffle = this.#shuffle): string {
    if (members.length === 0) return this.#random.pick(['{}', '{ }']);
    const list = shuffle ? this.#random.shuffled(members) : members;
    const text = list.map(([key, value]) => `"${key}"${this.#colon()}${value}${this.#gap()}`);
    return `{${this.#gap()}${text.join(`,${this.#gap()}`)}}`;
  }

  #event(): string {
    const random = this.#random;
    const place = { pid: random.pick(PIDS), tid: random.pick(TIDS), ts: this.#numbers.time() };
    this.#last = place;
    const members = [
      ...this.#usually(50, 'ph', `"${random.pick(PHASES)}"`),
      ...this.#usually(9, 'cat', `"${random.pick(CATEGORIES)}"`),
      ...this.#usually(20, 'name', `"${random.pick(NAMES)}"`),
      ...this.#usually(30, 'pid', place.pid),
      ...this.#usually(30, 'tid', place.tid),
      ...this.#usually(40, 'ts', place.ts),
      ...this.#usually(5, 'dur', this.#numbers.duration()),
      ...this.#usually(6, 'args', this.#args()),
    ];
    if (random.once(6)) members.push(['id', this.#numbers.id()]);
    if (random.once(6)) members.push(['bp', '"e"'], random.pick(DECOYS.filter(([key]) => key.length > 4)));
    if (random.once(8)) members.push(['tts', random.pick(NON_NUMBERS)]);
    return random.once(12) ? this.#withDuplicate(members) : this.#object(members);
  }

  /** The member, but once in so many times not. */
  #usually(missing: number, key: string, value: string): Member[] {
    return this.#random.once(missing) ? [] : [[key, value]];
  }

  /** A flow at the time and place of the event before it, or nearly. */
  #boundFlow(): string {
    const random = this.#random;
    const { pid, tid, ts } = this.#last;
    return this.#object([
      ['ph', `"${random.pick(['s', 'f', 't'])}"`],
      ['id', random.once(4) ? this.#numbers.id() : this.#numbers.smallId()],
      ['pid', random.once(8) ? random.pick(PIDS) : pid],
      ['tid', tid],
      ['ts', random.once(8) ? this.#numbers.time() : ts],
      ['cat', `"${random.pick(['ac2g', 'fwdbwd'])}"`],
      ['name', '"ac2g"'],
      ...this.#usually(2, 'bp', '"e"'),
      ...(random.once(6) ? ([['args', this.#args()]] as const) : []),
    ]);
  }

  /** A key twice: the last one counts, as in JSON.parse. */
  #withDuplicate(members: readonly Member[]): string {
    const first = this.#random.pick<Member>([
      ['ts', '17'],
      ['dur', '2.5'],
      ['pid', '9'],
      ['tid', '"nine"'],
      ['name', '"twice"'],
      ['cat', '"twice"'],
      ['ph', '"i"'],
      ['ph', '5'],
      ['ph', '"XX"'],
      ['other', '[{}]'],
    ]);
    // The plain one first: JSON.parse would not show the reference what a scanner tolerated in it.
    return this.#object([first, ...this.#random.shuffled(members)], false);
  }

  #args(): string {
    const random = this.#random;
    const odd = ['null', '[]', '{}', '{ }', '"text"', '"{"', '5', 'NaN', '[1,{"ph":"X"}]', 'true'];
    return random.once(8) ? random.pick(odd) : this.#object(tortureArgs(random, this.#numbers));
  }
}
