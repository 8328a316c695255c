import { printable, printableJson } from '../../base/printable.js';
import { displayWidth } from './text.js';

/** Rows of a query as text, piece by piece. */
export interface RowFormat {
  head(): string;
  rows(rows: readonly (readonly unknown[])[]): string;
  tail(): string;
}

interface Column {
  readonly name: string;
  readonly type: string;
}

export const ROW_FORMATS = ['table', 'csv', 'json'] as const;
export type RowFormatName = (typeof ROW_FORMATS)[number];

export function rowFormat(name: RowFormatName, columns: readonly Column[]): RowFormat {
  return name === 'table' ? new TextTable(columns) : name === 'csv' ? csv(columns) : jsonRows(columns);
}

/** Types whose values come as text and are numbers all the same. */
const WIDE_NUMBER = /^(?:U?BIGINT|U?HUGEINT|DECIMAL)/;
const NUMBER = /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DECIMAL|DOUBLE|FLOAT)/;

function csv(columns: readonly Column[]): RowFormat {
  const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const line = (cells: readonly unknown[]) => `${cells.map((c) => quoted(plain(c))).join(',')}\n`;
  return {
    head: () => line(columns.map((c) => c.name)),
    rows: (rows) => rows.map(line).join(''),
    tail: () => '',
  };
}

/** One array of objects. */
function jsonRows(columns: readonly Column[]): RowFormat {
  const keys = columns.map((c) => JSON.stringify(c.name));
  const value = (cell: unknown, i: number) =>
    typeof cell === 'string' && WIDE_NUMBER.test(columns[i]!.type) && /^-?[\d.]+$/.test(cell)
      ? cell
      : JSON.stringify(cell ?? null);
  let isFirst = true;
  const line = (cells: readonly unknown[]) => {
    const before = isFirst ? '\n' : ',\n';
    isFirst = false;
    return `${before}{${cells.map((cell, i) => `${keys[i]}:${value(cell, i)}`).join(',')}}`;
  };
  return {
    head: () => '[',
    rows: (rows) => printableJson(rows.map(line).join('')),
    tail: () => '\n]\n',
  };
}

/** Longer texts are cut in a table for people. */
const MAX_CELL = 60;

/** Columns as wide as the first rows need. Later rows may stand out. */
class TextTable implements RowFormat {
  readonly #columns: readonly Column[];
  #widths: number[] = [];
  #count = 0;

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  head(): string {
    return '';
  }

  rows(rows: readonly (readonly unknown[])[]): string {
    const cells = rows.map((row) => row.map((cell, i) => this.#cell(cell, i)));
    const head = this.#count === 0 ? this.#begin(cells) : '';
    this.#count += rows.length;
    return head + cells.map((row) => this.#line(row)).join('');
  }

  tail(): string {
    const head = this.#count === 0 ? this.#begin([]) : '';
    return `${head}(${this.#count.toLocaleString('en-US')} ${this.#count === 1 ? 'row' : 'rows'})\n`;
  }

  #begin(cells: readonly (readonly string[])[]): string {
    const names = this.#columns.map((c) => printable(c.name));
    this.#widths = names.map((name, i) =>
      cells.reduce((w, row) => Math.max(w, displayWidth(row[i]!)), displayWidth(name)),
    );
    return this.#line(names) + this.#line(this.#widths.map((w) => '─'.repeat(w)));
  }

  #line(cells: readonly string[]): string {
    const padded = cells.map((text, i) => {
      const space = ' '.repeat(Math.max(0, this.#widths[i]! - displayWidth(text)));
      return NUMBER.test(this.#columns[i]!.type) ? space + text : text + space;
    });
    return `${padded.join('  ').trimEnd()}\n`;
  }

  #cell(cell: unknown, i: number): string {
    const isFraction =
      typeof cell === 'number' && !Number.isInteger(cell) && NUMBER.test(this.#columns[i]!.type);
    const text = printable(isFraction ? shortNumber(cell) : plain(cell));
    return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text;
  }
}

/** Six digits are enough to read. */
const shortNumber = (n: number): string => String(Number(n.toPrecision(6)));

const plain = (cell: unknown): string =>
  cell === null || cell === undefined ? '' : typeof cell === 'string' ? cell : JSON.stringify(cell);
