import type { ProblemLog } from '../../base/problem.js';
import type { DumpedCall, DumpedGroup, FlightDump } from '../../model/flight-dump.js';
import { Fields, MAX_TEXT } from '../common/fields.js';
import { type JsonObject, parseJson } from '../common/json-object.js';
import { isOwnFile } from '../common/own-code.js';
import { clipped } from '../common/text.js';

/** The recorder keeps 2,000 by default. */
const MAX_ENTRIES = 65_536;
const MAX_GROUPS = 65_536;
/** Of all groups together: a rank of a job with 100,000 ranks is in a few of them. */
const MAX_MEMBERS = 1 << 20;

/** A call, and what says to which others it belongs. */
interface Read extends DumpedCall {
  readonly pgId: number | null;
  readonly isP2p: boolean;
}

/** What torch wrote, from JSON or a pickle. torch 2.2 wrote only the list of entries. */
export function toFlightDump(object: JsonObject, problems: ProblemLog): FlightDump {
  const dump = new Fields(object, problems, 'the dump');
  const entries = dump.list('entries') ?? [];
  const message = `The dump has more than ${MAX_ENTRIES} calls; counted are those beyond.`;
  const tooMany = { message, consequence: 'Only the last ones are used.' };
  problems.add('too-many-entries', tooMany, null, entries.length - MAX_ENTRIES);
  const calls = dump.each(entries.slice(-MAX_ENTRIES)).flatMap((entry) => callIn(entry) ?? []);
  return {
    groups: groupsIn(dump.inside('pg_config'), dump.inside('pg_status'), calls),
    calls: withCoalesced(calls).map(({ pgId: _id, isP2p: _p2p, ...call }) => call),
  };
}

function groupsIn(
  config: Fields | null,
  status: Fields | null,
  calls: readonly Read[],
): readonly DumpedGroup[] {
  let members = 0;
  const named = Object.keys(config?.object ?? {})
    .slice(0, MAX_GROUPS)
    .flatMap((key) => {
      const group = config?.inside(key);
      const name = group?.text('name') ?? key;
      if (!group || name === '') return [];
      const ranks = members < MAX_MEMBERS ? ranksOf(group.object.ranks) : [];
      members += ranks.length;
      group.problems.add('too-many-entries', TOO_MANY_MEMBERS, null, Number(members > MAX_MEMBERS));
      return [{ name, description: group.text('desc') ?? '', ranks: members > MAX_MEMBERS ? [] : ranks }];
    });
  const entered = enteredByGroup(
    named.map((g) => g.name),
    status,
    calls,
  );
  const known = new Set(named.map((g) => g.name));
  const others = new Map(calls.filter((c) => !known.has(c.group)).map((c) => [c.group, c.description]));
  return [
    ...named,
    ...[...others].map(([name, description]) => ({ name, description, ranks: [] as number[] })),
  ].map((group) => ({ ...group, entered: entered.get(group.name) ?? null }));
}

/**
 * The status has numbers for groups instead of names. Calls show which is which; otherwise both count up in the order in which
 * the groups were made. (431 of 431 calls in two sets of 16 dumps agree.) Sends and receives share the count, so groups with
 * them are left out.
 */
function enteredByGroup(names: readonly string[], status: Fields | null, calls: readonly Read[]) {
  const entered = new Map<string, number>();
  if (!status) return entered;
  const idOf = new Map<string, string>();
  for (const { group, pgId } of calls) if (pgId !== null) idOf.set(group, `${pgId}`);
  const ids = Object.keys(status.object).slice(0, MAX_GROUPS);
  if (names.length === ids.length && [...names, ...ids].every((n) => /^\d{1,9}$/.test(n))) {
    const inOrder = ids.toSorted((a, b) => Number(a) - Number(b));
    const paired = names
      .toSorted((a, b) => Number(a) - Number(b))
      .map((name, i) => [name, inOrder[i]!] as const);
    if (paired.every(([name, id]) => (idOf.get(name) ?? id) === id))
      for (const [name, id] of paired) idOf.set(name, id);
  }
  const p2p = new Set(calls.filter((c) => c.isP2p).map((c) => c.group));
  for (const [name, id] of idOf) {
    const last = p2p.has(name) ? null : (status.inside(id)?.countOrText('last_enqueued_collective') ?? null);
    if (last !== null) entered.set(name, last);
  }
  return entered;
}

const TOO_MANY_MEMBERS = {
  message: `The dump has more than ${MAX_MEMBERS} members of groups.`,
  consequence: 'The members of further groups count as unknown.',
};

/** A list, or its text: `"[0, 1]"`. */
function ranksOf(value: unknown): readonly number[] {
  const list = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(list) ? list.filter((r) => Number.isSafeInteger(r) && r >= 0) : [];
}

function callIn(entry: Fields): Read | null {
  const [group = '', description = ''] = (entry.list('process_group') ?? []).map((part) =>
    typeof part === 'string' || typeof part === 'number' ? clipped(`${part}`, MAX_TEXT) : '',
  );
  // `nccl:recv 0<-3`: the own position in the group, then that of the other.
  const [, name = 'a collective', peer] =
    /^(?:\w+:)?(.*?)(?: \d+(?:->|<-)(\d{1,7}))?$/.exec(entry.text('profiling_name') ?? '') ?? [];
  const isP2p = entry.flag('is_p2p') ?? peer !== undefined;
  const sequence =
    (isP2p ? entry.count('p2p_seq_id') : entry.count('collective_seq_id')) ?? entry.count('seq_id');
  if (sequence === null) return null;
  const state = entry.text('state');
  return {
    group,
    description,
    sequence,
    name: name || 'a collective',
    peer: peer === undefined ? null : Number(peer),
    isP2p,
    sizes: sizesOf(entry.object.input_sizes),
    types: typesOf(entry.object.input_dtypes),
    // Gloo's calls stay `scheduled`.
    isDone: state === 'completed' || entry.flag('retired') === true,
    enteredNs: entry.number('time_created_ns'),
    durationMs: entry.number('duration_ms'),
    calledFrom: callerIn(entry),
    pgId: entry.count('pg_id'),
  };
}

/** Of calls that are grouped, only the `coalesced` after them knows whether they are done. */
function withCoalesced(calls: readonly Read[]): readonly Read[] {
  const done = new Set<string>();
  const key = (c: Read) => `${c.group} ${c.isP2p} ${c.sequence}`;
  for (const call of calls) if (call.name === 'coalesced' && call.isDone) done.add(key(call));
  return done.size === 0 ? calls : calls.map((c) => (done.has(key(c)) ? { ...c, isDone: true } : c));
}

/** Only numbers in two levels, for what is nested deeper would overflow the stack. */
function sizesOf(value: unknown): string {
  if (!Array.isArray(value)) return '';
  const sizes = value.slice(0, MAX_TEXT).map((size) => {
    const numbers: unknown[] = Array.isArray(size) ? size.slice(0, MAX_TEXT) : [];
    return `[${numbers.filter((n) => typeof n === 'number').join(', ')}]`;
  });
  return clipped(`[${sizes.join(', ')}]`, MAX_TEXT);
}

const typesOf = (value: unknown): string =>
  Array.isArray(value)
    ? [...new Set(value.slice(0, MAX_TEXT).filter((t) => typeof t === 'string'))]
        .join(', ')
        .slice(0, MAX_TEXT)
    : '';

/** Frames are innermost first. */
function callerIn(entry: Fields): string | null {
  const frames = entry.each(entry.list('frames') ?? []);
  const own = frames.find((frame) => isOwnFile(frame.text('filename') ?? ''));
  return own ? `${own.text('filename')}:${own.count('line') ?? '?'} in ${own.text('name') ?? '?'}` : null;
}
