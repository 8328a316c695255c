import type { StringData } from '../../../model/string-table.js';
import { StringTable } from '../../../model/string-table.js';
import type { StringIds } from '../../../model/trace-data.js';
import type { SideArrays } from './side-columns.js';

/** Kinds of memory by CUPTI's numbers and by the words of PyTorch. */
const MEMORY: Readonly<Record<string, string>> = {
  1: 'Pageable',
  2: 'Pinned',
  3: 'Device',
  4: 'Array',
  5: 'Managed',
  6: 'Device',
  7: 'Managed',
  pageable: 'Pageable',
  pinned: 'Pinned',
  device: 'Device',
  array: 'Array',
  managed: 'Managed',
  device_static: 'Device',
  managed_static: 'Managed',
};
const memory = (kind: string): string => MEMORY[kind] ?? 'Unknown';

/** What PyTorch's own backend for CUPTI calls every copy. */
export const UNTOLD_COPY = 'Memcpy';

/** `Memcpy HtoD (Pageable -> Device)`, as Kineto writes it; `Memcpy` where the direction is not known. */
export function copyName(kind: string, from: string, to: string): string {
  return /^[A-Z]to[A-Z]$/.test(kind) ? `Memcpy ${kind} (${memory(from)} -> ${memory(to)})` : UNTOLD_COPY;
}

export const fillName = (kind: string): string => `Memset (${memory(kind)})`;

interface Named {
  readonly name: StringIds;
  readonly strings: StringData;
}

/**
 * Gives copies the names of Kineto, which say where they go. PyTorch's own backend has that in arguments instead: `copies` is
 * the table of copies with them.
 */
export function nameCopies({ name, strings }: Named, copies: SideArrays): Named {
  const { row, direction, source, destination } = copies as Readonly<Record<string, Uint32Array>>;
  if (!direction!.some((token) => token !== 0)) return { name, strings };
  const text = new StringTable(strings);
  const ids = new Map<string, number>();
  const renamed = Uint32Array.from(name);
  for (let i = 0; i < row!.length; i++) {
    if (direction![i] === 0 || text.text(name[row![i]!]!) !== UNTOLD_COPY) continue;
    const full = copyName(text.text(direction![i]!), text.text(source![i]!), text.text(destination![i]!));
    if (full === UNTOLD_COPY) continue;
    const id = ids.get(full) ?? text.size + ids.size;
    ids.set(full, id);
    renamed[row![i]!] = id;
  }
  const narrow = text.size + ids.size <= 0xffff;
  return { name: narrow ? Uint16Array.from(renamed) : renamed, strings: withTexts(strings, [...ids.keys()]) };
}

function withTexts({ bytes, starts }: StringData, texts: readonly string[]): StringData {
  const added = Buffer.from(texts.map((text) => JSON.stringify(text)).join(''));
  const all = new Uint8Array(bytes.length + added.length);
  all.set(bytes);
  all.set(added, bytes.length);
  const ends = new Uint32Array(starts.length + texts.length);
  ends.set(starts);
  for (const [i, text] of texts.entries())
    ends[starts.length + i] = ends[starts.length + i - 1]! + text.length + 2;
  return { bytes: all, starts: ends };
}
