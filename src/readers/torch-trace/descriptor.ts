import type { CompileLog } from '../../model/compile-log.js';
import { newCompileFaults } from '../common/compile/totals.js';
import { LineSplitter } from '../common/line-splitter.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { Compilations } from './compilations.js';
import { RECORD, RecordLines } from './records.js';

interface TorchTraceRead extends ReadModel {
  readonly log: CompileLog;
}

/**
 * Structured torch.compile logs: what a job under `TORCH_TRACE=folder` writes, one file per process, and what tlparse reads.
 * A part of one that begins inside a record is read too.
 */
export const torchTraceReader: ReaderDescriptor<TorchTraceRead> = {
  id: 'torch-trace',
  title: 'a torch.compile log (TORCH_TRACE)',
  line: { one: 'TORCH_TRACE log', many: 'TORCH_TRACE logs', counts: 'compilations' },
  sniff: (head) =>
    headText(head)
      .split('\n')
      .some((line) => RECORD.test(line)),
  create: () => new TorchTraceStreamReader(),
  digest: ({ log }) => ({
    of: 'run',
    events: log.times?.compilations.length ?? 0,
    evidence: { compileLog: log },
  }),
};

class TorchTraceStreamReader implements StreamReader<TorchTraceRead> {
  readonly #faults = newCompileFaults();
  readonly #compilations = new Compilations(this.#faults);
  readonly #records = new RecordLines(this.#compilations);
  readonly #splitter = new LineSplitter(this.#records);

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): TorchTraceRead {
    this.#splitter.finish();
    this.#records.finish();
    return { log: this.#compilations.finish(), problems: this.#faults.list() };
  }
}
