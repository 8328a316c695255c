import type { Trace } from '../../model/trace.js';
import type { HostTree } from './host-tree.js';

/** One name among the host's calls. Times in ns over the detail window. */
export interface OperatorTotal {
  readonly name: string;
  readonly count: number;
  readonly total: number;
  /** Not in recorded callees. */
  readonly self: number;
  /** Roles of all its calls together (detail/roles.ts). */
  readonly roles: number;
  /** The longest one, for evidence. */
  readonly longestRow: number;
  readonly longest: number;
  readonly longestSelf: number;
}

/** Names beyond these are rare and short; the table must stay small. */
const KEPT = 600;

export function totalOperators(trace: Trace, tree: HostTree): OperatorTotal[] {
  type Open = { -readonly [K in keyof OperatorTotal]: OperatorTotal[K] };
  const byName = new Map<number, Open>();
  for (let i = 0; i < tree.length; i++) {
    const row = tree.row[i]!;
    const id = trace.data.name[row]!;
    let entry = byName.get(id);
    if (!entry) {
      entry = {
        name: '',
        count: 0,
        total: 0,
        self: 0,
        roles: 0,
        longestRow: row,
        longest: 0,
        longestSelf: 0,
      };
      byName.set(id, entry);
    }
    const duration = tree.end[i]! - tree.start[i]!;
    entry.count++;
    entry.total += duration;
    entry.self += tree.self[i]!;
    entry.roles |= tree.roles[i]!;
    entry.longestSelf = Math.max(entry.longestSelf, tree.self[i]!);
    if (duration > entry.longest) {
      entry.longest = duration;
      entry.longestRow = row;
    }
  }
  return [...byName]
    .map(([id, entry]) => ({ ...entry, name: trace.strings.text(id) }))
    .sort((a, b) => b.self - a.self)
    .slice(0, KEPT);
}
