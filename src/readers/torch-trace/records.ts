import { asObject, type JsonObject, parseJson } from '../common/json-object.js';
import type { PieceEnd, PieceSink } from '../common/line-splitter.js';

/** `V1206 15:24:45.403000 1667746 torch/_dynamo/utils.py:1288] {"chromium_event": …`: glog's prefix, then JSON. */
export const RECORD = /^V\d{4} [\d:.]{8,20} \d{1,20} [^\s\]]{1,300}:\d{1,9}\] (?=\{)/;

/** One record: its kind, the header, and the lines of its payload that were asked for. */
export interface TorchRecord {
  readonly kind: string;
  readonly header: JsonObject;
  readonly payload: readonly string[];
  readonly line: number;
}

export interface RecordSink {
  /** Which lines of the payload it needs: all, or those that match. Null: none. `of` is the kind, or the artifact’s name. */
  wants(of: string): RegExp | 'all' | null;
  record(record: TorchRecord): void;
  badRecord(line: number): void;
  longLine(line: number): void;
}

/** Kinds that are read. The others are most of a log: graphs, generated code, descriptions of tensors. */
const KINDS = new Set(['str', 'dynamo_start', 'chromium_event', 'artifact', 'compilation_metrics']);
const KIND = /^\{"(\w{1,40})":/;

/** Characters of a payload that are kept. */
const MAX_PAYLOAD = 1 << 16;
const TAB = 9;

/** Puts the lines of a log together to records. Payloads are the lines after the header that begin with a tab. */
export class RecordLines implements PieceSink {
  readonly #sink: RecordSink;
  #header: JsonObject | null = null;
  #kind = '';
  #line = 0;
  #wanted: RegExp | 'all' | null = null;
  #payload: string[] = [];
  #kept = 0;

  constructor(sink: RecordSink) {
    this.#sink = sink;
  }

  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, line: number): void {
    if (bytes[start] === TAB) {
      if (this.#wanted) this.#keep(bytes.toString('utf8', start + 1, Math.min(end, start + MAX_PAYLOAD)));
      return;
    }
    this.finish();
    // What cannot be a header is the output of another program, or the second half of a line.
    const prefix = RECORD.exec(bytes.toString('latin1', start, Math.min(end, start + 400)))?.[0].length;
    if (prefix === undefined) return;
    const kind = KIND.exec(bytes.toString('latin1', start + prefix, Math.min(end, start + prefix + 60)))?.[1];
    if (!kind || !KINDS.has(kind)) return;
    const header = asObject(parseJson(bytes.toString('utf8', start + prefix, end)));
    if (!header || by === 'nul') return this.#sink.badRecord(line);
    this.#header = header;
    this.#kind = kind;
    this.#line = line;
    const name = asObject(header.artifact)?.name;
    this.#wanted = header.has_payload ? this.#sink.wants(typeof name === 'string' ? name : kind) : null;
  }

  /** The record that was read last is complete. */
  finish(): void {
    const header = this.#header;
    if (header) this.#sink.record({ kind: this.#kind, header, payload: this.#payload, line: this.#line });
    this.#header = null;
    this.#wanted = null;
    this.#payload = [];
    this.#kept = 0;
  }

  nulBytes(): void {}

  longLine(line: number): void {
    this.#sink.longLine(line);
  }

  #keep(text: string): void {
    if (this.#wanted !== 'all' && !this.#wanted?.test(text)) return;
    this.#kept += text.length;
    if (this.#kept <= MAX_PAYLOAD) this.#payload.push(text);
  }
}
