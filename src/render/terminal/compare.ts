import { largest } from '../../base/statistics.js';
import { formatCount, formatTime } from '../../base/units.js';
import type { ComparedSide, CompareReport } from '../../compare/compare-report.js';
import {
  findingLines,
  historyLines,
  lineRows,
  phaseRows,
  rankRows,
  type TimeRow,
  timeRows,
  workRow,
} from '../compare-rows.js';
import { hanging, oneLine, type Page, pageFor, paragraph } from './page.js';
import { displayWidth, padToWidth, shorten } from './text.js';

export interface ComparePage {
  readonly color: boolean;
  readonly columns?: number | undefined;
  /** Show all rows. */
  readonly all?: boolean;
}

const MAX_ROWS = 6;
/** A path that is cut further says nothing. */
const MIN_LABEL = 20;

/** The answer first, then where the time went, then what it rests on. */
export function renderCompare(report: CompareReport, { color, columns, all = false }: ComparePage): string {
  const page = pageFor(color, columns);
  const { c } = page;
  const paint = { faster: c.green, slower: c.red, same: c.bold, 'cannot-tell': c.yellow }[report.verdict];
  const { before_ms, after_ms } = report.step;
  const sections = [
    [
      ...paragraph(report.sentence, page, '', (text) => c.bold(paint(text))),
      `  step ${formatTime(before_ms)} → ${formatTime(after_ms)}`,
      ...sideLines('before', report.before, page, all),
      ...sideLines('after', report.after, page, all),
      ...historyLines(report).flatMap((line) => paragraph(line, page, '  ')),
    ],
    table('time of a step', timeRows(report), page, true),
    table('phases', phaseRows(report), page, all),
    works('kernels', report.kernels, page, all),
    works('host calls (under the profiler)', report.operators, page, all),
    table('ranks', rankRows(report), page, all),
    table('lines of the job', lineRows(report), page, all),
    findingLines(report).flatMap((line) => paragraph(line, page, '  ')),
    report.notes.flatMap((note) => paragraph(`note: ${note}`, page, '  ', c.dim)),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function sideLines(name: string, { runs, bottleneck }: ComparedSide, page: Page, all: boolean): string[] {
  const shown = all ? runs : runs.slice(0, MAX_ROWS);
  const lines = shown.flatMap(({ label, usual_ms, steps, source }) => {
    const text = `${formatTime(usual_ms)}, ${formatCount(steps, 'step')}, ${source}; bottleneck ${bottleneck}`;
    const lead = `  ${name.padEnd(6)}  `;
    const room = page.width - lead.length - displayWidth(text) - 2;
    const short = shorten(oneLine(label), Math.max(MIN_LABEL, room));
    return room < MIN_LABEL ? hanging(lead, `${short}: ${text}`, page) : [`${lead}${short}  ${text}`];
  });
  return [...lines, ...more(runs.length - shown.length, page)];
}

const more = (count: number, page: Page): string[] =>
  count > 0 ? [page.c.dim(`  … and ${count} more (--all lists them)`)] : [];

function table(title: string, rows: readonly TimeRow[], page: Page, all: boolean): string[] {
  return columns([title, 'before', 'after', ''], rows.map(cellsOf), page, all);
}

const cellsOf = (row: TimeRow): string[] => [row.name, row.before, row.after, row.difference];

function works(title: string, changed: CompareReport['kernels'], page: Page, all: boolean): string[] {
  const rows = changed
    .map(workRow)
    .map((row) => [`${row.change}: ${row.name}${row.grid}`, ...cellsOf(row).slice(1)]);
  return columns([title, 'before', 'after', ''], rows, page, all);
}

/** The first column gives way where the page is narrow. */
function columns(head: readonly string[], rows: readonly string[][], page: Page, all: boolean): string[] {
  if (rows.length === 0) return [];
  const shown = (all ? rows : rows.slice(0, MAX_ROWS)).map((row) => row.map(oneLine));
  const widths = head.map((_, i) => largest([head, ...shown].map((row) => displayWidth(row[i]!))));
  const others = widths.slice(1).reduce((sum, width) => sum + width + 2, 2);
  const first = Math.min(widths[0]!, Math.max(10, page.width - others));
  const line = (row: readonly string[]) =>
    shorten(
      `  ${[padToWidth(shorten(row[0]!, first), first), ...row.slice(1).map((cell, i) => padStart(cell, widths[i + 1]!))].join('  ')}`.trimEnd(),
      page.width,
    );
  return [page.c.dim(line(head)), ...shown.map(line), ...more(rows.length - shown.length, page)];
}

const padStart = (text: string, width: number): string =>
  ' '.repeat(Math.max(0, width - displayWidth(text))) + text;
