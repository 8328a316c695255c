import { printable } from '../../base/printable.js';
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

const MAX_ROWS = 15;
/** Names of C++ templates are long. */
const MAX_NAME = 120;
const MARKS = { faster: '🟢', slower: '🔴', same: '⚪', 'cannot-tell': '🟡' } as const;

/** A comment for a pull request: the answer first, the tables folded. */
export function markdownCompare(report: CompareReport): string {
  const { before_ms, after_ms } = report.step;
  const sections = [
    `### ${MARKS[report.verdict]} Step time: ${safe(report.sentence)}`,
    `${formatTime(before_ms)} → ${formatTime(after_ms)} a step. ${sideText('Before', report.before)} ${sideText('After', report.after)}`,
    list([...historyLines(report), ...findingLines(report)]),
    folded('Where the time went', [
      table('time of a step', timeRows(report)),
      table('phase', phaseRows(report)),
      table('rank', rankRows(report)),
      table('line', lineRows(report)),
    ]),
    folded('Kernels and host calls', [
      works('kernel', report.kernels),
      works('host call, under the profiler', report.operators),
    ]),
    list(report.notes),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}

function sideText(name: string, { runs, bottleneck }: ComparedSide): string {
  const steps = runs.reduce((sum, run) => sum + run.steps, 0);
  const sources = [...new Set(runs.map((run) => run.source))].join(' and ');
  return `${name}: ${formatCount(runs.length, 'run')}, ${formatCount(steps, 'step')}, ${sources}, bottleneck ${safe(bottleneck)}.`;
}

const list = (lines: readonly string[]): string => lines.map((line) => `- ${safe(line)}`).join('\n');

function folded(title: string, parts: readonly string[]): string {
  const shown = parts.filter((part) => part !== '');
  if (shown.length === 0) return '';
  return `<details><summary>${title}</summary>\n\n${shown.join('\n\n')}\n\n</details>`;
}

function table(name: string, rows: readonly TimeRow[]): string {
  return grid(
    [name, 'before', 'after', 'difference'],
    rows.map((r) => [r.name, r.before, r.after, r.difference]),
  );
}

const works = (name: string, changed: CompareReport['kernels']): string =>
  grid(
    [name, '', 'before', 'after', 'difference'],
    changed.map(workRow).map((r) => [r.name, r.change, r.before, r.after, r.difference]),
  );

function grid(head: readonly string[], rows: readonly string[][]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]) => `| ${cells.map(safe).join(' | ')} |`;
  return [
    line(head),
    `| ${head.map((_, i) => (i === 0 ? '---' : '--:')).join(' | ')} |`,
    ...rows.slice(0, MAX_ROWS).map(line),
  ].join('\n');
}

/** Names from traces are text here, not Markdown or HTML: no links, mentions or tags. */
function safe(text: string): string {
  const short = text.length > MAX_NAME && !text.includes(' ') ? `${text.slice(0, MAX_NAME)}…` : text;
  return printable(short.replace(/\s+/g, ' '))
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/[\\`*_[\]|#@~!]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
