import { ProblemLog } from '../../base/problem.js';
import type { FlightDump } from '../../model/flight-dump.js';
import { asObject, type JsonObject } from '../common/json-object.js';
import { looksLikePickle, PickleDecoder } from '../common/pickle/pickle-decoder.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { WholeFile } from '../common/whole-file.js';
import { toFlightDump } from './to-flight-dump.js';

interface FlightRead extends ReadModel {
  /** Null: it could not be read. */
  readonly dump: FlightDump | null;
}

/** Dumps of torch's flight recorder, one per rank: pickles as torch writes them, or JSON. */
export const flightRecorderReader: ReaderDescriptor<FlightRead> = {
  id: 'flight-recorder',
  title: 'a dump of torch’s flight recorder (nccl_trace_rank_<r>)',
  sniff: (head) => looksLikeJson(headText(head)) || isPickledDump(head),
  line: { one: 'flight-recorder dump', many: 'flight-recorder dumps', counts: 'calls' },
  refusesEmpty: true,
  create: () => new FlightRecorderReader(),
  // A dump without calls counts too: the rank waits for nothing.
  digest: ({ dump }) => ({
    of: 'run',
    events: dump ? Math.max(1, dump.calls.length) : 0,
    evidence: dump ? { flightDump: dump } : {},
  }),
};

function looksLikeJson(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false;
  const has = (key: string) => text.includes(`"${key}"`);
  // Traces have a `pg_config` too.
  if (/"entries"\s*:\s*\[/.test(text))
    return has('collective_seq_id') || has('pg_config') || has('pg_status');
  return has('pg_config') && has('pg_status');
}

const isPickledDump = (head: Uint8Array) =>
  looksLikePickle(head) && /pg_config|pg_status|collective_seq_id|nccl:/.test(headText(head));

/** 2,000 entries with stacks have about 10 MB. */
const MAX_BYTES = 128 << 20;
const LIMITS = { memory: 512 << 20, visits: 32 << 20 };

class FlightRecorderReader implements StreamReader<FlightRead> {
  readonly #file = new WholeFile(MAX_BYTES);
  readonly #problems = new ProblemLog();
  /** Null: nothing was read yet. False: it is JSON. */
  #pickle: PickleDecoder | false | null = null;

  push(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#pickle ??= chunk[0] === 0x80 && new PickleDecoder(LIMITS);
    if (this.#pickle) this.#pickle.push(chunk);
    else this.#file.push(chunk);
  }

  finish(): FlightRead {
    const object = this.#pickle ? this.#unpickled(this.#pickle) : this.#parsed();
    const dump = object ? toFlightDump(object, this.#problems) : null;
    return { dump, problems: this.#problems.list() };
  }

  #unpickled(decoder: PickleDecoder): JsonObject | null {
    const { value, problem } = decoder.finish();
    if (problem) {
      this.#problems.addAll([problem]);
      return null;
    }
    const object = Array.isArray(value) ? { entries: value } : asObject(value);
    if (!object) this.#problems.add('broken-dump', NO_OBJECT);
    return object;
  }

  #parsed(): JsonObject | null {
    const object = this.#file.object();
    if (this.#file.isTooLarge) this.#problems.add('too-large', TOO_LARGE);
    else if (!object) this.#problems.add('broken-dump', BROKEN);
    return object;
  }
}

const TOO_LARGE = { message: 'The dump is larger than 128 MiB.', consequence: 'It was not read.' };
const BROKEN = {
  message: 'The dump is not one JSON object, or has far more values than a dump; it may be cut short.',
  consequence: 'Nothing in it is used.',
};
const NO_OBJECT = { message: 'The pickle is not a dump.', consequence: 'Nothing in it is used.' };
