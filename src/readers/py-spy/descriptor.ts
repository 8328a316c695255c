import type { ReaderDescriptor, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { FlameGraphReader, looksLikeFlameGraph } from './flame-graph-reader.js';
import { JsonStacksReader, looksLikeJsonDump, looksLikeSpeedscope } from './json-reader.js';
import type { StacksRead } from './stack-book.js';
import { DumpReader, looksLikeDump, looksLikeRaw, RawReader } from './text-reader.js';

/** The forms in which py-spy writes stacks. The first whose test passes reads the file. */
const FORMS: readonly (readonly [test: (head: string) => boolean, create: () => StreamReader<StacksRead>])[] =
  [
    [looksLikeJsonDump, () => new JsonStacksReader()],
    [looksLikeSpeedscope, () => new JsonStacksReader()],
    [looksLikeFlameGraph, () => new FlameGraphReader()],
    [looksLikeDump, () => new DumpReader()],
    [looksLikeRaw, () => new RawReader()],
  ];

/** As much as readers are given to recognize a file. */
const HEAD_BYTES = 65536;

export const pySpyReader: ReaderDescriptor<StacksRead> = {
  id: 'py-spy',
  title: 'Python stacks (`py-spy dump`, `py-spy record` as flame graph, raw or speedscope)',
  sniff: (head) => FORMS.some(([test]) => test(headText(head))),
  line: { one: 'file of Python stacks', many: 'files of Python stacks', counts: 'samples' },
  create: () => new AnyFormReader(),
  digest: ({ profiles }) => {
    const stacks = profiles.flatMap((p) => p.threads.flatMap((t) => t.stacks));
    const events = stacks.reduce((n, s) => n + s.samples, 0);
    return { of: 'run', events, evidence: { stacks: profiles } };
  },
};

/** Chooses the form once enough bytes have come. */
class AnyFormReader implements StreamReader<StacksRead> {
  #pending: Buffer[] = [];
  #bytes = 0;
  #reader: StreamReader<StacksRead> | null = null;

  push(chunk: Uint8Array): void {
    if (this.#reader) return this.#reader.push(chunk);
    this.#pending.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
    if (this.#bytes >= HEAD_BYTES) this.#choose();
  }

  finish() {
    return this.#choose().finish();
  }

  #choose(): StreamReader<StacksRead> {
    if (this.#reader) return this.#reader;
    const head = headText(Buffer.concat(this.#pending).subarray(0, HEAD_BYTES));
    const reader = (FORMS.find(([test]) => test(head))?.[1] ?? (() => new DumpReader()))();
    for (const chunk of this.#pending) reader.push(chunk);
    this.#pending = [];
    this.#reader = reader;
    return reader;
  }
}
