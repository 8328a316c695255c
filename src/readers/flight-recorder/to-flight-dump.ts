import type { ProblemLog } from '../../base/problem.js';
import type { DumpedCollective, DumpedGroup, FlightDump } from '../../model/flight-dump.js';
import { Fields, MAX_TEXT } from '../common/fields.js';
import { type JsonObject, parseJson } from '../common/json-object.js';
import { isOwnFile } from '../common/own-code.js';

export const NOTHING_DUMPED: FlightDump = { groups: [], collectives: [] };

/** The recorder keeps 2,000 by default. */
const MAX_ENTRIES = 65_536;
const MAX_GROUPS = 65_536;

export function toFlightDump(object: JsonObject, problems: ProblemLog): FlightDump {
  const dump = new Fields(object, problems, 'the dump');
  const entries = dump.list('entries') ?? [];
  const message = `The dump has more than ${MAX_ENTRIES} collectives; counted are those beyond.`;
  const tooMany = { message, consequence: 'Only the last ones are used.' };
  problems.add('too-many-entries', tooMany, null, entries.length - MAX_ENTRIES);
  return {
    groups: groupsIn(dump.inside('pg_config')),
    collectives: dump.each(entries.slice(-MAX_ENTRIES)).flatMap(collective),
  };
}

function groupsIn(config: Fields | null): readonly DumpedGroup[] {
  if (!config) return [];
  return Object.keys(config.object)
    .slice(0, MAX_GROUPS)
    .flatMap((key) => {
      const group = config.inside(key);
      if (!group) return [];
      const name = group.text('name') ?? key;
      return [{ name, description: group.text('desc') ?? '', ranks: ranksOf(group.object.ranks) }];
    });
}

/** A list, or its text: `"[0, 1]"`. */
function ranksOf(value: unknown): readonly number[] {
  const list = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(list) ? list.filter((r) => Number.isSafeInteger(r) && r >= 0) : [];
}

/** Sends and receives concern two ranks, and are numbered by pair: nobody else misses them. */
function collective(entry: Fields): DumpedCollective[] {
  if (entry.flag('is_p2p')) return [];
  const sequence = entry.count('collective_seq_id') ?? entry.count('seq_id');
  if (sequence === null) return [];
  const [name = '', description = ''] = (entry.list('process_group') ?? []).map((part) =>
    typeof part === 'string' || typeof part === 'number' ? `${part}`.slice(0, MAX_TEXT) : '',
  );
  const state = entry.text('state');
  return [
    {
      group: name,
      description,
      sequence,
      name: entry.text('profiling_name') ?? 'a collective',
      sizes: sizesOf(entry.object.input_sizes),
      isDone: state === 'completed' || entry.flag('retired') === true,
      // Gloo's collectives stay `scheduled` until they are retired.
      hasStarted: state === 'started' ? true : entry.object.time_discovered_started_ns ? true : null,
      enteredNs: entry.number('time_created_ns'),
      calledFrom: callerIn(entry),
    },
  ];
}

/** Only numbers in two levels, for what is nested deeper would overflow the stack. */
function sizesOf(value: unknown): string {
  if (!Array.isArray(value)) return '';
  const sizes = value.slice(0, MAX_TEXT).map((size) => {
    const numbers: unknown[] = Array.isArray(size) ? size.slice(0, MAX_TEXT) : [];
    return `[${numbers.filter((n) => typeof n === 'number').join(', ')}]`;
  });
  return `[${sizes.join(', ')}]`.slice(0, MAX_TEXT);
}

/** Frames are innermost first. */
function callerIn(entry: Fields): string | null {
  const frames = entry.each(entry.list('frames') ?? []);
  const own = frames.find((frame) => isOwnFile(frame.text('filename') ?? ''));
  return own ? `${own.text('filename')}:${own.count('line') ?? '?'} in ${own.text('name') ?? '?'}` : null;
}
