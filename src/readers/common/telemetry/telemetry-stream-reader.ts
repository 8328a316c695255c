import type { GpuTelemetry } from '../../../model/telemetry.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../line-splitter.js';
import type { ReadModel, StreamReader } from '../reader.js';
import { newTelemetryFaults, TelemetryColumns } from './columns.js';
import { dmonLayout, dmonNames, dmonUnits, type RowLayout, wordsOf } from './dmon-layout.js';
import { cellsOf, queryLayout, queryNames } from './query-layout.js';
import { cardsOf, readCard } from './rocm-layout.js';
import { clearSample, emptySample, type Sample } from './sample.js';

/** More lines without a header are no warnings. */
const MAX_EARLY = 100;

export interface TelemetryRead extends ReadModel {
  readonly telemetry: GpuTelemetry;
}

/**
 * Reads what nvidia-smi and rocm-smi print, line by line, whatever its columns. Headers repeat; after a restart the columns
 * may be different.
 */
export class TelemetryStreamReader implements StreamReader<TelemetryRead>, PieceSink {
  readonly #faults = newTelemetryFaults();
  readonly #columns = new TelemetryColumns(this.#faults);
  readonly #splitter = new LineSplitter(this);
  readonly #sample = emptySample();
  #names: readonly string[] | null = null;
  #layout: RowLayout | null = null;
  #cells: (line: string) => readonly string[] = wordsOf;
  /** Lines before the first header. Before objects of rocm-smi they are its warnings. */
  #early: number[] = [];

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): TelemetryRead {
    this.#splitter.finish();
    this.#noteEarly();
    return { telemetry: this.#columns.finish(), problems: this.#faults.list() };
  }

  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, line: number): void {
    const text = bytes.toString('utf8', start, end).trim();
    if (text === '') return;
    if (text.startsWith('{')) return this.#cards(text, by, line);
    // A number that lost its last digits looks complete, so only a line with its newline counts.
    if (by !== 'newline') this.#faults.add('cut-sample', line);
    else if (!this.#header(text)) this.#row(text, line);
  }

  nulBytes(count: number, line: number): void {
    this.#faults.add('nul-bytes', line, count);
  }

  longLine(line: number): void {
    this.#faults.add('long-line', line);
  }

  #header(text: string): boolean {
    if (text.startsWith('#')) {
      const names = dmonNames(text);
      if (names) this.#use(names, dmonLayout(names, null), wordsOf);
      else if (this.#names && this.#cells === wordsOf)
        this.#layout = dmonLayout(this.#names, dmonUnits(text));
      return true;
    }
    const names = /[a-z]\./i.test(text) ? queryNames(text) : null;
    if (names) this.#use(names, queryLayout(names), cellsOf);
    return names !== null;
  }

  #noteEarly(): void {
    for (const line of this.#early.splice(0)) this.#faults.add('odd-line', line);
  }

  #use(names: readonly string[], layout: RowLayout, cells: (line: string) => readonly string[]): void {
    this.#noteEarly();
    this.#names = names;
    this.#layout = layout;
    this.#cells = cells;
  }

  #row(text: string, line: number): void {
    const layout = this.#layout;
    if (!layout && this.#early.length < MAX_EARLY) return void this.#early.push(line);
    const cells = layout && this.#cells(text);
    if (!cells || cells.length !== layout.length) return this.#faults.add('odd-line', line);
    this.#append(line, (sample) => {
      for (const [i, cell] of cells.entries()) layout[i]?.(sample, cell);
    });
  }

  /** One object of rocm-smi. It is complete if it can be parsed, also without its newline. */
  #cards(text: string, by: PieceEnd, line: number): void {
    const cards = cardsOf(text);
    if (cards === null) return this.#faults.add(by === 'newline' ? 'odd-line' : 'cut-sample', line);
    if (cards.length > 0) this.#early = [];
    for (const [number, card] of cards) {
      if (card) this.#append(line, (sample) => readCard(sample, number, card));
      else this.#faults.add('odd-line', line);
    }
  }

  #append(line: number, read: (sample: Sample) => void): void {
    const sample = this.#sample;
    clearSample(sample);
    read(sample);
    if (sample.odd) this.#faults.add('odd-value', line);
    this.#columns.append(sample, line);
  }
}
