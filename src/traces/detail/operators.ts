import type { Trace } from '../../model/trace.js';
import type { HostTree } from './host-tree.js';

/** All host calls of one name. Times in ns over the detail window. */
export interface OperatorTotal {
  readonly name: string;
  readonly count: number;
  readonly total: number;
  /** Time outside recorded callees. */
  readonly self: number;
  /** Roles of all its calls together (detail/roles.ts). */
  readonly roles: number;
  readonly longest: number;
  readonly longestSelf: number;
}

/** The names with most time of their own. The others are rare and short, and the table must stay small. */
const KEPT = 600;

export function totalOperators(trace: Trace, tree: HostTree): OperatorTotal[] {
  type Open = { -readonly [K in keyof OperatorTotal]: OperatorTotal[K] };
  const byName = new Map<number, Open>();
  for (let i = 0; i < tree.length; i++) {
    const id = trace.data.name[tree.row[i]!]!;
    let entry = byName.get(id);
    if (!entry) {
      const name = trace.strings.text(id);
      entry = { name, count: 0, total: 0, self: 0, roles: 0, longest: 0, longestSelf: 0 };
      byName.set(id, entry);
    }
    const duration = tree.end[i]! - tree.start[i]!;
    entry.count++;
    entry.total += duration;
    entry.self += tree.self[i]!;
    entry.roles |= tree.roles[i]!;
    entry.longestSelf = Math.max(entry.longestSelf, tree.self[i]!);
    entry.longest = Math.max(entry.longest, duration);
  }
  return [...byName.values()].sort((a, b) => b.self - a.self).slice(0, KEPT);
}
