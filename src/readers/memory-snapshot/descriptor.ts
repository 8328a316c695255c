import { ProblemLog } from '../../base/problem.js';
import { type MemoryFacts, memoryFacts } from '../../memory/memory-facts.js';
import { asObject } from '../common/json-object.js';
import { looksLikePickle, PickleDecoder } from '../common/pickle/pickle-decoder.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { toMemorySnapshot } from './to-memory-snapshot.js';

interface SnapshotRead extends ReadModel {
  readonly facts: readonly MemoryFacts[];
}

/** Snapshots of PyTorch's allocator, as `torch.cuda.memory._dump_snapshot` writes them. */
export const memorySnapshotReader: ReaderDescriptor<SnapshotRead> = {
  id: 'memory-snapshot',
  title: 'a memory snapshot (torch.cuda.memory._dump_snapshot)',
  sniff: (head) => looksLikePickle(head) && /segments|device_traces/.test(headText(head).slice(0, 4096)),
  line: { one: 'memory snapshot', many: 'memory snapshots', counts: 'events' },
  refusesEmpty: true,
  create: () => new MemorySnapshotReader(),
  digest: ({ facts }) => ({
    of: 'run',
    events: facts.reduce((n, f) => n + f.events, 0),
    evidence: facts.length > 0 ? { memory: facts } : {},
  }),
};

/** Shared stacks are walked once, so what they would be written out does not matter. */
const LIMITS = { memory: 512 << 20, visits: 2 ** 48 };

class MemorySnapshotReader implements StreamReader<SnapshotRead> {
  readonly #decoder = new PickleDecoder(LIMITS);

  get isDone(): boolean {
    return this.#decoder.isDone;
  }

  push(chunk: Uint8Array): void {
    this.#decoder.push(chunk);
  }

  finish(): SnapshotRead {
    const problems = new ProblemLog();
    const { value, problem } = this.#decoder.finish();
    const object = asObject(value);
    if (problem) problems.addAll([problem]);
    else if (!object) problems.add('broken-snapshot', NO_SNAPSHOT);
    const facts = object ? memoryFacts(toMemorySnapshot(object, problems)) : [];
    if (object && facts.length === 0) problems.add('empty-snapshot', EMPTY);
    return { facts, problems: problems.list() };
  }
}

const NO_SNAPSHOT = {
  message: 'The pickle is not a memory snapshot.',
  consequence: 'Nothing in it is used.',
};
const EMPTY = {
  message:
    'The snapshot has no memory in it. Call torch.cuda.memory._record_memory_history() before the job allocates on the GPU.',
  consequence: 'Nothing in it is used.',
};
