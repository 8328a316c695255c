import type { GpuTelemetry } from '../../../model/telemetry.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../line-splitter.js';
import type { ReadModel, StreamReader } from '../reader.js';
import { newTelemetryFaults, TelemetryColumns } from './columns.js';
import { dmonLayout, dmonNames, dmonUnits, type RowLayout, wordsOf } from './dmon-layout.js';
import { cellsOf, queryLayout, queryNames } from './query-layout.js';
import { clearSample, emptySample } from './sample.js';

export interface TelemetryRead extends ReadModel {
  readonly telemetry: GpuTelemetry;
}

/**
 * Reads what nvidia-smi prints, line by line, whatever its columns. Headers repeat; after a restart the columns may be
 * different.
 */
export class TelemetryStreamReader implements StreamReader<TelemetryRead>, PieceSink {
  readonly #faults = newTelemetryFaults();
  readonly #columns = new TelemetryColumns(this.#faults);
  readonly #splitter = new LineSplitter(this);
  readonly #sample = emptySample();
  #names: readonly string[] | null = null;
  #layout: RowLayout | null = null;
  #cells: (line: string) => readonly string[] = wordsOf;

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): TelemetryRead {
    this.#splitter.finish();
    return { telemetry: this.#columns.finish(), problems: this.#faults.list() };
  }

  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, line: number): void {
    const text = bytes.toString('utf8', start, end).trim();
    if (text === '') return;
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

  #use(names: readonly string[], layout: RowLayout, cells: (line: string) => readonly string[]): void {
    this.#names = names;
    this.#layout = layout;
    this.#cells = cells;
  }

  #row(text: string, line: number): void {
    const layout = this.#layout;
    const cells = layout && this.#cells(text);
    if (!cells || cells.length !== layout.length) return this.#faults.add('odd-line', line);
    const sample = this.#sample;
    clearSample(sample);
    for (const [i, cell] of cells.entries()) layout[i]?.(sample, cell);
    if (sample.odd) this.#faults.add('odd-value', line);
    this.#columns.append(sample, line);
  }
}
