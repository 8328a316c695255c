import type { Report, ReportRank } from '../../report/report.js';
import { formatMs, shorten } from './format.js';
import { oneLine, type Page, paragraph } from './page.js';
import { className, largestShares } from './step-time.js';
import { displayWidth, padToWidth } from './width.js';

const MAX_RANKS = 16;
const MAX_HOST_WIDTH = 24;

/** Who holds up whom; nothing for a single rank. */
export function rankSection(report: Report, page: Page, all: boolean): string[] {
  if (report.ranks.length < 2) return [];
  // The answer itself names the worst one.
  const others = report.stragglers.filter((s) => !report.verdict.sentence.includes(s.sentence));
  const late = others.flatMap((s) => paragraph(s.sentence, page, '  ', page.c.yellow));
  const shown = all ? report.ranks : mostTelling(report);
  const more = report.ranks.length - shown.length;
  return [
    ...late,
    ...pathLine(report, page),
    ...casesLine(report, page),
    ...heatStrip(shown, report, page),
    ...table(shown, report, page),
    ...(more > 0 ? [page.c.dim(`  … and ${more} more (--all lists them)`)] : []),
  ];
}

/** Ranks with less of the path are not named. */
const ON_PATH = 0.1;
const MOST_ON_PATH = 3;

/** Whose time sets the pace, and what that time is. */
function pathLine(report: Report, page: Page): string[] {
  const path = report.critical_path;
  if (!path) return [];
  const named = path.by_rank.filter((r) => r.share >= ON_PATH).slice(0, MOST_ON_PATH);
  if (named.length === 0) return paragraph('critical path: spread over all ranks', page, '  ');
  const parts = named.map(
    ({ rank, share, mostly, mostly_ms }) =>
      `rank ${rank} for ${Math.round(100 * share)} % (${className(mostly)} ${formatMs(mostly_ms)})`,
  );
  const others = path.by_rank.length - named.length;
  const more = others > 0 ? `, ${others} more` : '';
  return paragraph(`critical path: ${parts.join(', ')}${more}`, page, '  ');
}

/** What the step would be without something. */
function casesLine(report: Report, page: Page): string[] {
  const cases = report.what_if?.cases ?? [];
  if (cases.length === 0) return [];
  const text = cases.map((c) => `${c.text}: −${formatMs(c.saving_ms)}`).join('; ');
  return paragraph(`${text[0]!.toUpperCase()}${text.slice(1)}`, page, '  ');
}

/** Of many ranks the late ones and then the slowest, in the order of ranks. */
function mostTelling(report: Report): ReportRank[] {
  const lateness = (r: ReportRank) => (lateAs(r, report) === '' ? 0 : 1);
  return [...report.ranks]
    .sort((a, b) => lateness(b) - lateness(a) || (b.step_ms ?? 0) - (a.step_ms ?? 0) || a.rank - b.rank)
    .slice(0, MAX_RANKS)
    .sort((a, b) => a.rank - b.rank);
}

function table(ranks: readonly ReportRank[], report: Report, page: Page): string[] {
  const rows = ranks.map((r) => [
    String(r.rank),
    shorten(oneLine(r.host ?? '–'), MAX_HOST_WIDTH),
    r.step_ms === null ? '–' : formatMs(r.step_ms),
    mostly(r),
    lateAs(r, report),
  ]);
  const head = ['rank', 'host', 'step', 'mostly', ''];
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => displayWidth(row[i]!))));
  const line = (row: readonly string[]) =>
    shorten(`  ${row.map((cell, i) => padToWidth(cell, widths[i]!)).join('  ')}`.trimEnd(), page.width);
  return [page.c.dim(line(head)), ...rows.map((row) => (row[4] ? page.c.yellow(line(row)) : line(row)))];
}

/** Fewer ranks are told by the table alone. */
const WORTH_A_STRIP = 3;
const LEVELS = [...' ▁▂▃▄▅▆▇█'];

/** Ranks by steps: the higher, the later a rank came, against the largest lateness or a tenth of the step. */
function heatStrip(shown: readonly ReportRank[], report: Report, page: Page): string[] {
  const { heat } = report;
  if (!heat || report.ranks.length < WORTH_A_STRIP || heat.steps.length === 0) return [];
  const rows = shown.flatMap((r) => heat.rows.filter((row) => row.rank === r.rank));
  const width = page.width - '  rank 1234  '.length;
  const worst = rows.reduce((ms, row) => row.late_ms.reduce((a, b) => Math.max(a, b), ms), 0);
  const scale = Math.max(worst, 0.1 * (report.step.ms ?? 0)) || 1;
  const cell = (ms: number) =>
    LEVELS[Math.round(Math.min(1, Math.max(0, ms / scale)) * (LEVELS.length - 1))]!;
  const lines = rows.map((row) => {
    const strip = fold(row.late_ms, width).map(cell).join('');
    return `  rank ${String(row.rank).padStart(4)}  ${strip}`.trimEnd();
  });
  const title = `  lateness by step, ${heat.steps[0]}–${heat.steps.at(-1)}, █ = ${formatMs(scale)}`;
  return [page.c.dim(shorten(title, page.width)), ...lines, ''];
}

/** At most so many values: neighbours become their largest. */
function fold(values: readonly number[], most: number): number[] {
  const each = Math.ceil(values.length / most);
  return Array.from({ length: Math.ceil(values.length / each) }, (_, i) =>
    values.slice(i * each, (i + 1) * each).reduce((a, b) => Math.max(a, b)),
  );
}

function mostly(rank: ReportRank): string {
  const [largest] = largestShares(rank.time);
  return largest ? `${largest.name} ${(largest.fraction * 100).toFixed(0)} %` : '–';
}

/** `late: persistent, data`, or nothing. */
function lateAs(rank: ReportRank, report: Report): string {
  const as = report.stragglers.find((s) => s.ranks.includes(rank.rank));
  return as ? `late: ${as.pattern}, ${as.cause}` : '';
}
