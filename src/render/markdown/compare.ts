import { printable } from '../../base/printable.js';
import { formatCount, formatTime } from '../../base/units.js';
import type { ComparedSide, CompareReport } from '../../compare/compare-report.js';
import {
  findingLines,
  historyLines,
  lineRows,
  phaseRows,
  rankRows,
  rowOf,
  type TimeRow,
  timeRows,
  type WorkRow,
  workRow,
} from '../compare-rows.js';
import { shorten } from '../terminal/text.js';

/**
 * Names come from traces, so they must stay text: no tags, no formatting, no links, and on GitHub no mentions and no references
 * to issues. GitHub looks for mentions after it has resolved entities, so an invisible space follows the mark.
 */
const plain = (text: string): string => escaped(text).replace(/&#(?:64|35);/g, (mark) => `${mark}&#8203;`);

/** As code, in which GitHub looks for neither. Not in backticks: a name may hold them. */
const code = (text: string): string => `<code>${escaped(text)}</code>`;

function escaped(text: string): string {
  return printable(text.replace(/\s+/g, ' '))
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/[\\`*_[\]|#@~!]|:(?=\/\/)|(?<=\bwww)\./gi, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** Rows of a folded table. The page has all of them. */
const MAX_ROWS = 8;
/** Parts of the step that are shown with it. */
const MAX_PARTS = 4;
/** A comment is about 100 characters wide; the other columns need half of them. */
const MAX_NAME = 60;
const MARKS = { faster: '🟢', slower: '🔴', same: '⚪', 'cannot-tell': '🟡' } as const;

/** A comment for a pull request: the answer and the largest changes first, the rest folded. */
export function markdownCompare(report: CompareReport): string {
  const { kernels, operators, notes } = report;
  const sections = [
    `### ${MARKS[report.verdict]} Step time: ${plain(report.sentence)}`,
    stepTable(report),
    list([...historyLines(report), ...findingLines(report)]),
    folded('Phases, ranks and lines', [
      table('phase', phaseRows(report)),
      table('rank', rankRows(report)),
      table('line of the job', lineRows(report)),
    ]),
    folded(`Kernels (${kernels.length} changed)`, [works('kernel', kernels)]),
    folded(`Host calls under the profiler (${operators.length} changed)`, [works('host call', operators)]),
    folded('What this rests on', [
      list([sideText('before', report.before), sideText('after', report.after), ...notes]),
    ]),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}

/** The step and the parts of it that changed most. */
function stepTable(report: CompareReport): string {
  const { before_ms, after_ms } = report.step;
  const parts = timeRows(report)
    .toSorted((a, b) => Math.abs(b.delta ?? 0) - Math.abs(a.delta ?? 0))
    .slice(0, MAX_PARTS);
  const rows = [rowOf('**step**', before_ms, after_ms), ...parts];
  return grid(
    ['', 'before', 'after', 'difference'],
    rows.map((r) => [r.name, r.before, r.after, r.difference]),
  );
}

function sideText(name: string, { runs, bottleneck }: ComparedSide): string {
  const steps = runs.reduce((sum, run) => sum + run.steps, 0);
  const sources = [...new Set(runs.map((run) => run.source))].join(' and ');
  const means = runs.slice(0, MAX_ROWS).map((run) => formatTime(run.usual_ms));
  const each = runs.length > 1 ? ` (${means.join(', ')}${runs.length > MAX_ROWS ? ', …' : ''})` : '';
  return `${name}: ${formatCount(runs.length, 'run')}${each}, ${formatCount(steps, 'step')}, ${sources}; bottleneck ${bottleneck}`;
}

const list = (lines: readonly string[]): string => lines.map((line) => `- ${plain(line)}`).join('\n');

function folded(title: string, parts: readonly string[]): string {
  const shown = parts.filter((part) => part !== '');
  if (shown.length === 0) return '';
  return `<details><summary>${title}</summary>\n\n${shown.join('\n\n')}\n\n</details>`;
}

function table(name: string, rows: readonly TimeRow[]): string {
  return grid(
    [name, 'before', 'after', 'difference'],
    rows.map((r) => [nameCell(r.name), r.before, r.after, r.difference]),
  );
}

const works = (name: string, changed: CompareReport['kernels']): string =>
  grid(
    [name, 'before', 'after', 'difference', 'change'],
    changed
      .map(workRow)
      .map((r) => [workCell(r), figure(r.before), figure(r.after), figure(r.difference), r.change]),
  );

const nameCell = (name: string): string => code(shorten(name, MAX_NAME));

/** The beginning of a kernel's name says most. */
function workCell({ name, grid }: WorkRow): string {
  const room = MAX_NAME - grid.length;
  return code(`${name.length > room ? `${name.slice(0, room - 1)}…` : name}${grid}`);
}

/** Figures and their units stay on one line. */
const figure = (text: string): string => text.replaceAll(' ', '&nbsp;');

/** Cells are Markdown already. */
function grid(head: readonly string[], rows: readonly string[][]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const left = rows.length - MAX_ROWS;
  return [
    line(head),
    `| ${head.map((name, i) => (i === 0 || name === 'change' ? '---' : '--:')).join(' | ')} |`,
    ...rows.slice(0, MAX_ROWS).map(line),
    ...(left > 0 ? [line([`… and ${left} more`, ...head.slice(1).map(() => '')])] : []),
  ].join('\n');
}
