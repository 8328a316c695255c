import type { CollectiveGroup } from '../../facts/rank-collectives.js';
import type { Trace } from '../../model/trace.js';
import type { ProcessGroup } from '../../model/trace-data.js';

/** What an event says about its process group. Ids of strings; 0 and NaN: nothing. */
export interface GroupArgs {
  readonly name: number;
  readonly description: number;
  readonly ranks: number;
  readonly size: number;
  readonly start: number;
  readonly stride: number;
}

/** More members than this are not written out: a shape such as start and stride says the same. */
const MAX_MEMBERS = 1 << 17;

/** The process groups of one trace, numbered as they come up. */
export class GroupTable {
  readonly groups: CollectiveGroup[] = [];
  readonly #places = new Map<string, number>();
  readonly #configured: readonly ProcessGroup[];
  readonly #worldSize: number | null;

  constructor(readonly trace: Trace) {
    const { distributed } = trace.data.header;
    this.#configured = distributed?.groups ?? [];
    this.#worldSize = distributed?.worldSize ?? null;
  }

  /** `stream`: stands for the group where nothing else does: every group has a stream of its own. */
  placeOf(args: GroupArgs | null, stream: string): number {
    const named = args !== null && (args.name !== 0 || args.ranks !== 0 || args.description !== 0);
    const id = named
      ? `${args.name} ${args.description} ${args.ranks} ${args.size} ${args.start} ${args.stride}`
      : stream;
    let place = this.#places.get(id);
    if (place === undefined) {
      place = this.#add(named ? this.#named(args) : this.#unnamed(stream));
      this.#places.set(id, place);
    }
    return place;
  }

  /** The same group may be described in two ways, with and without its ranks. */
  #add(group: CollectiveGroup): number {
    const same = this.groups.findIndex(
      (g) => g.key === group.key && g.name === group.name && g.description === group.description,
    );
    if (same >= 0) return same;
    // The last place takes all the rest: the column has 16 bits.
    if (this.groups.length < 0xffff) this.groups.push(group);
    return this.groups.length - 1;
  }

  #named(args: GroupArgs): CollectiveGroup {
    const { strings } = this.trace;
    const name = strings.text(args.name);
    const description = strings.text(args.description);
    const configured = this.#configured.find((g) => g.name === name);
    const ranks = this.#members(args, configured);
    const size = ranks?.length ?? configured?.size ?? (args.size > 0 ? args.size : null);
    return group(name, description || configured?.description || '', size, ranks);
  }

  /** `pg_config`, else the list unless it was shortened, else a regular shape, else everybody. */
  #members(args: GroupArgs, configured: ProcessGroup | undefined): readonly number[] | null {
    if (configured && configured.ranks.length > 0) return configured.ranks;
    const { ranks, size, start, stride } = args;
    const listed = listOf(this.trace.strings.text(ranks));
    if (listed && !(size > listed.length)) return listed;
    if (size > 0 && size <= MAX_MEMBERS) {
      if (start >= 0 && (stride >= 1 || size === 1)) return regular(size, start, stride);
      if (size === this.#worldSize) return regular(size, 0, 1);
    }
    return null;
  }

  #unnamed(stream: string): CollectiveGroup {
    const only = this.#configured.length === 1 ? this.#configured[0]! : null;
    if (only && only.ranks.length > 0)
      return group(only.name, only.description ?? '', only.ranks.length, only.ranks);
    return { key: `unnamed ${stream}`, name: '', description: '', size: null, ranks: null, named: false };
  }
}

function group(
  name: string,
  description: string,
  size: number | null,
  members: readonly number[] | null,
): CollectiveGroup {
  const ranks = members && [...members].sort((a, b) => a - b);
  const key = ranks ? `ranks ${shortList(ranks)}` : `name ${name} ${description} of ${size ?? '?'}`;
  return { key, name, description, size, ranks, named: true };
}

const regular = (size: number, start: number, stride: number) =>
  Array.from({ length: size }, (_, i) => start + (size === 1 ? 0 : i * stride));

/** `[0, 1, 2]`; beyond 30 entries the profiler writes `...` for the middle, and nothing is known. */
function listOf(text: string): number[] | null {
  if (!/^\[[\d,\s]*\]$/.test(text)) return null;
  const ranks = text.match(/\d+/g)?.map(Number) ?? [];
  return ranks.length > 0 ? ranks : null;
}

/** 0-3,8,9 … as a key: the members of a group of thousands in a few characters. */
export function shortList(ranks: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < ranks.length; ) {
    const step = (ranks[i + 1] ?? Number.NaN) - ranks[i]!;
    let end = i;
    while (end + 1 < ranks.length && ranks[end + 1]! - ranks[end]! === step) end++;
    if (end - i >= 2) parts.push(`${ranks[i]}-${ranks[end]}${step === 1 ? '' : `:${step}`}`);
    else end = i;
    if (end === i) parts.push(String(ranks[i]));
    i = end + 1;
  }
  return parts.join(',');
}
