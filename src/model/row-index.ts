import { inBlocks } from '../base/blocks.js';
import type { StringTable } from './string-table.js';
import type { KindInfo, TraceData } from './trace-data.js';

type KindTest = (kind: KindInfo) => boolean;

/**
 * Finds rows by kind and by name. A trace has millions of rows, but a few dozen kinds and a few thousand names: these are
 * tested instead, and rows are looked at only where some kind has such a name.
 */
export class RowIndex {
  readonly #data: TraceData;
  readonly #strings: StringTable;
  #kindsOfName: Uint32Array | undefined;

  constructor(data: TraceData, strings: StringTable) {
    this.#data = data;
    this.#strings = strings;
  }

  /** Rows of the kinds that pass, in file order. */
  ofKinds(test: KindTest): Uint32Array {
    return rowsOfKinds(this.#data, test);
  }

  /** Of those, the rows whose name passes too. */
  named(test: KindTest, isNamed: (text: string) => boolean): Uint32Array {
    const { rows, kind, kinds, name } = this.#data;
    const ofKind = Uint8Array.from(kinds, (k) => Number(test(k)));
    const ofName = this.#namesOf(ofKind, isNamed);
    const found: number[] = [];
    if (ofName.includes(1))
      inBlocks(rows, (from, to) => {
        for (let row = from; row < to; row++)
          if (ofName[name[row]!] === 1 && ofKind[kind[row]!] === 1) found.push(row);
      });
    return Uint32Array.from(found);
  }

  /** For each string, 1 where it passes and names a row of these kinds. */
  #namesOf(ofKind: Uint8Array, isNamed: (text: string) => boolean): Uint8Array {
    this.#kindsOfName ??= kindsOfNames(this.#data, this.#strings.size);
    const kindsOfName = this.#kindsOfName;
    const wanted = ofKind.reduce((bits, is, kind) => (is === 1 ? bits | bitOf(kind) : bits), 0);
    const passing = new Uint8Array(kindsOfName.length);
    inBlocks(kindsOfName.length, (from, to) => {
      for (let id = from; id < to; id++)
        if ((kindsOfName[id]! & wanted) !== 0 && isNamed(this.#strings.text(id))) passing[id] = 1;
    });
    return passing;
  }
}

/** Rows of the kinds that pass, in file order. */
export function rowsOfKinds(data: TraceData, test: KindTest): Uint32Array {
  const wanted = Uint8Array.from(data.kinds, (k) => Number(test(k)));
  const count = data.kinds.reduce((n, k, i) => n + (wanted[i] === 1 ? k.events - k.folded : 0), 0);
  if (count === 0) return new Uint32Array(0);
  // One more, for the last row that does not pass: without a branch the loop takes half the time.
  const rows = new Uint32Array(count + 1);
  const { kind } = data;
  let n = 0;
  inBlocks(data.rows, (from, to) => {
    let next = n;
    for (let row = from; row < to; row++) {
      rows[next] = row;
      next += wanted[kind[row]!]!;
    }
    n = next;
  });
  return rows.subarray(0, count);
}

/** Kinds from 31 on share a bit. */
const bitOf = (kind: number): number => 1 << Math.min(kind, 31);

/** For each string, the kinds of the rows that it names, as bits. */
function kindsOfNames({ rows, kind, name, kinds }: TraceData, strings: number): Uint32Array {
  const bits = Uint32Array.from(kinds, (_, i) => bitOf(i));
  const found = new Uint32Array(strings);
  inBlocks(rows, (from, to) => {
    for (let row = from; row < to; row++) found[name[row]!]! |= bits[kind[row]!]!;
  });
  return found;
}
