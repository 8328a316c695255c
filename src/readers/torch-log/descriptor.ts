import type { CompileLog } from '../../model/compile-log.js';
import { CompileTotals, newCompileFaults } from '../common/compile/totals.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../common/line-splitter.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { CompileEvents, parseLogLine } from './compile-events.js';

interface TorchLogRead extends ReadModel {
  readonly log: CompileLog;
}

/** What a job under `TORCH_LOGS=recompiles,graph_breaks` wrote to stderr, and the warning that torch writes by itself. */
export const torchLogReader: ReaderDescriptor<TorchLogRead> = {
  id: 'torch-log',
  title: 'a torch.compile log (stderr of a job under TORCH_LOGS=recompiles,graph_breaks)',
  sniff: (head) =>
    headText(head)
      .split('\n')
      .some((line) => parseLogLine(line.slice(0, MAX_LINE)) !== null),
  line: { one: 'torch.compile log', many: 'torch.compile logs', counts: 'events' },
  create: () => new TorchLogStreamReader(),
  digest: ({ log }) => ({ of: 'run', events: eventsIn(log), evidence: { compileLog: log } }),
};

const eventsIn = ({ functions, graphBreaks }: CompileLog): number =>
  functions.reduce((n, f) => n + f.recompiles + Number(f.limit !== null), 0) +
  graphBreaks.reduce((n, b) => n + b.count, 0);

/** Longer lines are the job's own output. */
const MAX_LINE = 4096;

class TorchLogStreamReader implements StreamReader<TorchLogRead>, PieceSink {
  readonly #faults = newCompileFaults();
  readonly #totals = new CompileTotals(this.#faults);
  readonly #events = new CompileEvents(this.#totals);
  readonly #splitter = new LineSplitter(this);

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): TorchLogRead {
    this.#splitter.finish();
    return { log: { ...this.#totals.finish(), times: null }, problems: this.#faults.list() };
  }

  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, line: number): void {
    // A cut last line may have lost digits of a number.
    if (by === 'end') return;
    const text = bytes.toString('utf8', start, Math.min(end, start + MAX_LINE)).trimEnd();
    const parsed = parseLogLine(text);
    if (parsed) this.#events.line(parsed, line);
  }

  nulBytes(): void {}

  longLine(line: number): void {
    this.#faults.add('long-line', line);
  }
}
