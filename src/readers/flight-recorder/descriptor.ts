import { ProblemLog } from '../../base/problem.js';
import type { FlightDump } from '../../model/flight-dump.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { WholeFile } from '../common/whole-file.js';
import { NOTHING_DUMPED, toFlightDump } from './to-flight-dump.js';

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
