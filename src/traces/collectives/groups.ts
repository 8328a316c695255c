import { type CollectiveGroup, MAX_GROUPS } from '../../facts/rank-collectives.js';
import type { Trace } from '../../model/trace.js';
import type { ProcessGroup } from '../../model/trace-data.js';

/** What an event says about its process group: string ids and numbers. 0 and NaN: nothing. */
export interface GroupArgs {
  readonly name: number;
  readonly description: number;
  readonly ranks: number;
  readonly size: number;
  readonly start: number;
  readonly stride: number;
}

/** No job has more ranks. */
const MAX_SIZE = 1 << 17;
/**
 * Ranks written out for one trace, over all groups whose members follow from start and stride: a few bytes of input must
 * not fill the memory. Further groups are still known by their key.
 */
const MAX_WRITTEN = 1 << 19;

interface Members {
  /** The same for the same members, in whatever way they are recorded. */
  readonly key: string;
  readonly size: number;
  /** Ascending. Null: not written out. */
  readonly ranks: readonly number[] | null;
}

/** The process groups of one trace, in the order in which they come up. */
export class GroupTable {
  readonly groups: CollectiveGroup[] = [];
  /** By what the event says. */
  readonly #indices = new Map<string, number>();
  /** By key, name and description. */
  readonly #same = new Map<string, number>();
  readonly #configured: readonly ProcessGroup[];
  readonly #byName = new Map<string, ProcessGroup>();
  /** By what they follow from: an entry of `pg_config`, the string id of a list, or start and stride. */
  readonly #members = new Map<ProcessGroup | number | string, Members | null>();
  readonly #worldSize: number | null;
  #written = 0;

  constructor(readonly trace: Trace) {
    const { distributed } = trace.data.header;
    this.#configured = distributed?.groups ?? [];
    this.#worldSize = distributed?.worldSize ?? null;
    for (const g of this.#configured) if (!this.#byName.has(g.name)) this.#byName.set(g.name, g);
  }

  /** Index of a group. Where nothing names it, `stream` does: every group has a stream of its own. */
  indexOf(args: GroupArgs | null, stream: string): number {
    const named = args !== null && (args.name !== 0 || args.ranks !== 0 || args.description !== 0);
    const id = named
      ? `${args.name} ${args.description} ${args.ranks} ${args.size} ${args.start} ${args.stride}`
      : stream;
    const index = this.#indices.get(id) ?? this.#add(named ? this.#named(args) : this.#unnamed(stream));
    this.#indices.set(id, index);
    return index;
  }

  /** The same group may be described in two ways, with and without its ranks. */
  #add(group: CollectiveGroup): number {
    const id = JSON.stringify([group.key, group.name, group.description]);
    const same = this.#same.get(id);
    if (same !== undefined) return same;
    if (this.groups.length < MAX_GROUPS) this.groups.push(group);
    const index = this.groups.length - 1;
    if (this.groups[index] === group) this.#same.set(id, index);
    return index;
  }

  #named(args: GroupArgs): CollectiveGroup {
    const { strings } = this.trace;
    const name = strings.text(args.name);
    const configured = this.#byName.get(name);
    const description = strings.text(args.description) || configured?.description || '';
    const members = this.#membersOf(args, configured);
    const size = members?.size ?? configured?.size ?? (args.size > 0 ? args.size : null);
    const key = members?.key ?? `name ${name} ${description} of ${size ?? '?'}`;
    return { key, name, description, size, ranks: members?.ranks ?? null, named: true };
  }

  /** From `pg_config`, else from the list unless it was shortened, else from start and stride, else all ranks. */
  #membersOf(
    { ranks, size, start, stride }: GroupArgs,
    configured: ProcessGroup | undefined,
  ): Members | null {
    if (configured && configured.ranks.length > 0) return this.#configuredMembers(configured);
    const listed = this.#once(ranks, () => listOf(this.trace.strings.text(ranks)));
    if (listed && !(size > listed.size)) return listed;
    if (size > 0 && size <= MAX_SIZE) {
      if (start >= 0 && (stride >= 1 || size === 1)) return this.#regular(size, start, stride);
      if (size === this.#worldSize) return this.#regular(size, 0, 1);
    }
    return null;
  }

  #unnamed(stream: string): CollectiveGroup {
    const only = this.#configured.length === 1 ? this.#configured[0]! : null;
    if (only && only.ranks.length > 0) {
      const members = this.#configuredMembers(only)!;
      return { ...members, name: only.name, description: only.description ?? '', named: true };
    }
    return { key: `unnamed ${stream}`, name: '', description: '', size: null, ranks: null, named: false };
  }

  #configuredMembers(configured: ProcessGroup): Members | null {
    return this.#once(configured, () => membersOf(configured.ranks));
  }

  #regular(size: number, start: number, stride: number): Members | null {
    return this.#once(`${size} from ${start} by ${stride}`, () => {
      if (size > 3 && this.#written + size > MAX_WRITTEN)
        return { key: `ranks ${rangeOf(start, start + (size - 1) * stride, stride)}`, size, ranks: null };
      this.#written += size;
      return membersOf(Array.from({ length: size }, (_, i) => start + (size === 1 ? 0 : i * stride)));
    });
  }

  #once(from: ProcessGroup | number | string, find: () => Members | null): Members | null {
    let members = this.#members.get(from);
    if (members === undefined) {
      members = find();
      this.#members.set(from, members);
    }
    return members;
  }
}

function membersOf(members: readonly number[]): Members {
  const ranks = [...members].sort((a, b) => a - b);
  return { key: `ranks ${shortList(ranks)}`, size: ranks.length, ranks };
}

/** `[0, 1, 2]`. Of more than 30 entries the profiler leaves out the middle (`...`): then null. */
function listOf(text: string): Members | null {
  if (!/^\[[\d,\s]*\]$/.test(text)) return null;
  const ranks = text.match(/\d+/g)?.map(Number) ?? [];
  return ranks.length > 0 ? membersOf(ranks) : null;
}

/** A key of a few characters for any number of ranks: `0-3,8,9`, `0-56:8`. */
function shortList(ranks: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < ranks.length; ) {
    const step = (ranks[i + 1] ?? Number.NaN) - ranks[i]!;
    let end = i;
    while (end + 1 < ranks.length && ranks[end + 1]! - ranks[end]! === step) end++;
    if (end - i >= 2) parts.push(rangeOf(ranks[i]!, ranks[end]!, step));
    else end = i;
    if (end === i) parts.push(String(ranks[i]));
    i = end + 1;
  }
  return parts.join(',');
}

const rangeOf = (first: number, last: number, step: number) =>
  `${first}-${last}${step === 1 ? '' : `:${step}`}`;
