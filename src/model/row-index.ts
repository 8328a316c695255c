import { inBlocks } from '../base/blocks.js';
import type { StringTable } from './string-table.js';
import type { KindInfo, TraceData } from './trace-data.js';

type KindTest = (kind: KindInfo) => boolean;

/**
 * Finds rows by kind and by name. A trace has millions of rows, but a few dozen kinds and a few thousand names: these are
 * tested instead, and only rows of kinds that have such a name are looked at.
 */
export class RowIndex {
  readonly #data: TraceData;
  readonly #strings: StringTable;
  #grouped: { readonly rows: Uint32Array; readonly starts: Uint32Array } | undefined;
  #kindsOfName: Uint32Array | undefined;

  constructor(data: TraceData, strings: StringTable) {
    this.#data = data;
    this.#strings = strings;
  }

  /** Rows of the kinds that pass, in file order. Not to be changed. */
  ofKinds(test: KindTest): Uint32Array {
    const kinds = this.#kindsWithRows(test);
    if (kinds.length === 0) return new Uint32Array(0);
    return kinds.length === 1 ? this.#ofKind(kinds[0]!) : rowsOfKinds(this.#data, test);
  }

  /** Of those, the rows whose name passes too. */
  named(test: KindTest, isNamed: (text: string) => boolean): Uint32Array {
    const { name } = this.#data;
    const wanted = this.#kindsWithRows(test);
    const isWanted = new Uint8Array(this.#strings.size);
    let having = 0;
    this.#eachName(wanted, (id, kinds) => {
      if (!isNamed(this.#strings.text(id))) return;
      isWanted[id] = 1;
      having |= kinds;
    });
    const found = wanted
      .filter((kind) => (bitOf(kind) & having) !== 0)
      .map((kind) => this.#ofKind(kind).filter((row) => isWanted[name[row]!] === 1));
    return found.length === 1 ? found[0]! : sortedTogether(found);
  }

  /** Calls `use` with each string that names a row of these kinds, and with the kinds of all rows it names, as bits. */
  #eachName(kinds: readonly number[], use: (id: number, kinds: number) => void): void {
    this.#kindsOfName ??= kindsOfNames(this.#data, this.#strings.size);
    const kindsOfName = this.#kindsOfName;
    const wanted = kinds.reduce((all, kind) => all | bitOf(kind), 0);
    for (let id = 0; id < kindsOfName.length; id++)
      if ((kindsOfName[id]! & wanted) !== 0) use(id, kindsOfName[id]!);
  }

  #kindsWithRows(test: KindTest): number[] {
    return this.#data.kinds.flatMap((k, i) => (test(k) && k.events > 0 ? [i] : []));
  }

  #ofKind(kind: number): Uint32Array {
    this.#grouped ??= groupByKind(this.#data);
    const { rows, starts } = this.#grouped;
    return rows.subarray(starts[kind]!, starts[kind + 1]!);
  }
}

const rowsIn = (kind: KindInfo): number => kind.events - kind.folded;
/** Kinds from 31 on share a bit. */
const bitOf = (kind: number): number => 1 << Math.min(kind, 31);

function sortedTogether(lists: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(lists.reduce((n, list) => n + list.length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all.sort();
}

/** Rows of the kinds that pass, in file order. */
export function rowsOfKinds(data: TraceData, test: KindTest): Uint32Array {
  const wanted = Uint8Array.from(data.kinds, (k) => Number(test(k)));
  const count = data.kinds.reduce((n, k, i) => n + (wanted[i] === 1 ? rowsIn(k) : 0), 0);
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

/** All rows, kind by kind, each in file order. */
function groupByKind({ rows: length, kind, kinds }: TraceData) {
  const starts = new Uint32Array(kinds.length + 1);
  inBlocks(length, (from, to) => {
    for (let row = from; row < to; row++) starts[kind[row]! + 1]!++;
  });
  for (let i = 1; i < starts.length; i++) starts[i]! += starts[i - 1]!;
  const next = starts.slice();
  const rows = new Uint32Array(length);
  inBlocks(length, (from, to) => {
    for (let row = from; row < to; row++) {
      const at = kind[row]!;
      rows[next[at]!] = row;
      next[at]!++;
    }
  });
  return { rows, starts };
}

/** For each string, the kinds of the rows that it names, as bits. */
function kindsOfNames({ rows, kind, name, kinds }: TraceData, strings: number): Uint32Array {
  const bits = Uint32Array.from(kinds, (_, i) => bitOf(i));
  const found = new Uint32Array(strings);
  inBlocks(rows, (from, to) => {
    for (let row = from; row < to; row++) found[name[row]!]! |= bits[kind[row]!]!;
  });
  return found;
}
