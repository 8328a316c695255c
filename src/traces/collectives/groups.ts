import type { CollectiveGroup } from '../../facts/rank-collectives.js';
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

/** Larger groups are not written out as lists of ranks. */
const MAX_MEMBERS = 1 << 17;

/** The process groups of one trace, in the order in which they come up. */
export class GroupTable {
  readonly groups: CollectiveGroup[] = [];
  readonly #indices = new Map<string, number>();
  readonly #configured: readonly ProcessGroup[];
  readonly #worldSize: number | null;

  constructor(readonly trace: Trace) {
    const { distributed } = trace.data.header;
    this.#configured = distributed?.groups ?? [];
    this.#worldSize = distributed?.worldSize ?? null;
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
    const same = this.groups.findIndex(
      (g) => g.key === group.key && g.name === group.name && g.description === group.description,
    );
    if (same >= 0) return same;
    // The column has 16 bits: the last group takes all the rest.
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

  /** From `pg_config`, else from the list unless it was shortened, else from start and stride, else all ranks. */
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

/** `[0, 1, 2]`. Of more than 30 entries the profiler leaves out the middle (`...`): then null. */
function listOf(text: string): number[] | null {
  if (!/^\[[\d,\s]*\]$/.test(text)) return null;
  const ranks = text.match(/\d+/g)?.map(Number) ?? [];
  return ranks.length > 0 ? ranks : null;
}

/** A key of a few characters for any number of ranks: `0-3,8,9`, `0-56:8`. */
function shortList(ranks: readonly number[]): string {
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
