import { ProblemLog } from '../../base/problem.js';
import type { DumpedCollective, DumpedGroup, FlightDump } from '../../model/flight-dump.js';
import { Fields, MAX_TEXT } from '../common/fields.js';
import { type JsonObject, parseJson } from '../common/json-object.js';
import { isOwnFile } from '../common/own-code.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { WholeFile } from '../common/whole-file.js';

const NOTHING_DUMPED: FlightDump = { groups: [], collectives: [] };

/** The recorder keeps 2,000 by default. */
const MAX_ENTRIES = 65_536;
const MAX_GROUPS = 65_536;

function toFlightDump(object: JsonObject, problems: ProblemLog): FlightDump {
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

interface FlightRead extends ReadModel {
  readonly dump: FlightDump;
}

/** Dumps of torch's flight recorder, one per rank. */
export const flightRecorderReader: ReaderDescriptor<FlightRead> = {
  id: 'flight-recorder',
  title: 'a dump of torch’s flight recorder, as JSON (nccl_trace_rank_<r>.json)',
  sniff: (head) => looksLikeJson(headText(head)) || looksLikePickle(head),
  line: { one: 'flight-recorder dump', many: 'flight-recorder dumps', counts: 'collectives' },
  refusesEmpty: true,
  create: () => new FlightRecorderReader(),
  digest: ({ dump }) => ({ of: 'run', events: dump.collectives.length, evidence: { flightDump: dump } }),
};

function looksLikeJson(text: string): boolean {
  return (
    text.trimStart().startsWith('{') &&
    /"entries"\s*:\s*\[/.test(text) &&
    /"(?:collective_seq_id|pg_config|pg_status)"\s*:/.test(text)
  );
}

/** What torch writes by itself is a pickle: reading one can run any code, so nobody should. */
function looksLikePickle(head: Uint8Array): boolean {
  return head[0] === 0x80 && head[1]! <= 5 && /pg_config|collective_seq_id/.test(headText(head));
}

/** 2,000 entries with stacks have about 10 MB. */
const MAX_BYTES = 128 << 20;

class FlightRecorderReader implements StreamReader<FlightRead> {
  readonly #file = new WholeFile(MAX_BYTES);
  #isPickle: boolean | null = null;

  push(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#isPickle ??= chunk[0] === 0x80;
    if (!this.#isPickle) this.#file.push(chunk);
  }

  finish(): FlightRead {
    const problems = new ProblemLog();
    const object = this.#isPickle ? null : this.#file.object();
    if (this.#isPickle) problems.add('pickle', PICKLE);
    else if (this.#file.isTooLarge) problems.add('too-large', TOO_LARGE);
    else if (!object) problems.add('broken-dump', BROKEN);
    const dump = object ? toFlightDump(object, problems) : NOTHING_DUMPED;
    return { dump, problems: problems.list() };
  }
}

const CONVERT = `python3 -c "import json,pickle,sys;print(json.dumps(pickle.load(sys.stdin.buffer)))" < nccl_trace_rank_0 > nccl_trace_rank_0.json`;
const PICKLE = {
  message: `The dump is a Python pickle, which can run any code when it is read. If you trust it, convert it: ${CONVERT}`,
  consequence: 'It was not read.',
};
const TOO_LARGE = { message: 'The dump is larger than 128 MiB.', consequence: 'It was not read.' };
const BROKEN = {
  message: 'The dump is not one JSON object; it may be cut short.',
  consequence: 'Nothing in it is used.',
};
