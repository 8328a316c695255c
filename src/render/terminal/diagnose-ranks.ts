import { largest, mean } from '../../base/statistics.js';
import { formatCount, formatNumber, formatTime, formatWholePercent, ms } from '../../base/units.js';
import type { Report, ReportRank } from '../../report/report.js';
import { CLASS_NAMES, largestShares, rankCount } from '../step-time.js';
import { oneLine, type Page, paragraph } from './page.js';
import { displayWidth, padToWidth, shorten } from './text.js';

const MAX_RANKS = 16;
/** Of hundreds of ranks the slowest are hardly slower than the next ones. */
const MAX_OF_MANY = 8;
const MAX_HOST_WIDTH = 24;

/** How the ranks compare and which of them are late. Empty for a single rank. */
export function rankSection(report: Report, page: Page, all: boolean): string[] {
  if (report.ranks.length < 2) return [];
  const others = report.stragglers.filter((s) => !report.verdict.details.includes(s.sentence));
  const shown = all ? report.ranks : mostRelevant(report);
  const more = rankCount(report) - shown.length;
  return [
    ...others.flatMap((s) => paragraph(s.sentence, page, '  ', page.c.yellow)),
    ...pathLine(report, page),
    ...whatIfLine(report, page),
    ...heatStrip(shown, report, page),
    ...axisTable(report, page),
    ...table(shown, report, page),
    ...(more > 0 ? [page.c.dim(`  … and ${formatNumber(more)} more (--all lists them)`)] : []),
  ];
}

/** Ranks with a smaller share of the critical path are not named. */
const MIN_PATH_SHARE = 0.1;
const MAX_PATH_RANKS = 3;

/** Which ranks set the pace, and what they spend that time on. */
function pathLine({ critical_path: path }: Report, page: Page): string[] {
  if (!path) return [];
  const named = path.by_rank.filter((r) => r.share >= MIN_PATH_SHARE).slice(0, MAX_PATH_RANKS);
  if (named.length === 0) return paragraph('critical path: spread over all ranks', page, '  ');
  const parts = named.map(
    ({ rank, share, mostly, mostly_ms }) =>
      `${formatWholePercent(share)} on rank ${rank} (${CLASS_NAMES[mostly]} ${formatTime(mostly_ms)})`,
  );
  const others = path.by_rank.length - named.length;
  if (others > 0) parts.push(formatCount(others, 'more rank'));
  return paragraph(`critical path: ${parts.join(', ')}`, page, '  ');
}

/** What the step would save without something. */
function whatIfLine({ what_if }: Report, page: Page): string[] {
  const text = (what_if?.cases ?? []).map((c) => `${c.text}: −${formatTime(c.saving_ms)}`).join('; ');
  return text === '' ? [] : paragraph(`${text[0]!.toUpperCase()}${text.slice(1)}`, page, '  ');
}

/** Late ranks first, then the slowest ones; listed by rank number. Of many ranks all steps are alike: those that are late at all. */
function mostRelevant(report: Report): ReportRank[] {
  const isLate = (r: ReportRank) => Number(lateAs(r, report) !== '');
  const late = new Map(report.many_ranks ? report.heat?.rows.map((r) => [r.rank, mean(r.late_ms)]) : []);
  const slow = (r: ReportRank) => late.get(r.rank) ?? r.step_ms ?? 0;
  return [...report.ranks]
    .sort((a, b) => isLate(b) - isLate(a) || slow(b) - slow(a) || a.rank - b.rank)
    .slice(0, report.many_ranks ? MAX_OF_MANY : MAX_RANKS)
    .sort((a, b) => a.rank - b.rank);
}

/** Values of an axis that are shown, if their ranks are late by this share of the step on average. */
const MAX_VALUES = 3;
const MIN_LATE = 0.01;

/** Of many ranks: which hosts, stages and positions in the mesh are late on average. */
function axisTable({ many_ranks, step }: Report, page: Page): string[] {
  const rows = (many_ranks?.axes ?? []).flatMap(({ name, values, latest }) =>
    latest
      .filter((v) => v.late_ms >= MIN_LATE * (step.ms ?? 0))
      .slice(0, MAX_VALUES)
      .map((v, i) => [
        i === 0 ? `${shorten(oneLine(name), MAX_HOST_WIDTH)} (${formatNumber(values)})` : '',
        shorten(oneLine(v.value), MAX_HOST_WIDTH),
        formatNumber(v.ranks),
        formatTime(v.late_ms),
        mostly(v),
      ]),
  );
  if (rows.length === 0) return [];
  return [...lines(['latest by', '', 'ranks', 'late', 'mostly'], rows, page), ''];
}

function table(ranks: readonly ReportRank[], report: Report, page: Page): string[] {
  const rows = ranks.map((r) => [
    String(r.rank),
    shorten(oneLine(r.host ?? '–'), MAX_HOST_WIDTH),
    r.step_ms === null ? '–' : formatTime(r.step_ms),
    mostly(r),
    lateAs(r, report),
  ]);
  return lines(['rank', 'host', 'step', 'mostly', ''], rows, page);
}

/** The last column is a remark: a row with one is marked. */
function lines(head: readonly string[], rows: readonly (readonly string[])[], page: Page): string[] {
  const widths = head.map((_, i) => largest([head, ...rows].map((row) => displayWidth(row[i]!))));
  const inLine = (row: readonly string[], padded: number) =>
    `  ${row.map((cell, i) => (i < padded ? padToWidth(cell, widths[i]!) : cell)).join('  ')}`.trimEnd();
  const line = (row: readonly string[]) => {
    const aligned = inLine(row, row.length);
    // A remark moves to the left where the page is narrow.
    return displayWidth(aligned) <= page.width ? aligned : shorten(inLine(row, row.length - 2), page.width);
  };
  const isMarked = (row: readonly string[]) => head.at(-1) === '' && row.at(-1) !== '';
  return [
    page.c.dim(line(head)),
    ...rows.map((row) => (isMarked(row) ? page.c.yellow(line(row)) : line(row))),
  ];
}

/** For fewer ranks the table is enough. */
const MIN_STRIP_RANKS = 3;
const LEVELS = [...' ▁▂▃▄▅▆▇█'];

/** One row per rank, one cell per step. A full cell is the largest lateness, or a tenth of the step if that is more. */
function heatStrip(
  shown: readonly ReportRank[],
  { heat, ranks, many_ranks, step }: Report,
  page: Page,
): string[] {
  if (!heat || ranks.length < MIN_STRIP_RANKS || heat.steps.length === 0) return [];
  const rows = shown.flatMap((r) => heat.rows.filter((row) => row.rank === r.rank));
  const width = page.width - '  rank 1234  '.length;
  const worst = largest([0, ...rows.map((row) => largest(row.late_ms))]);
  const scale = ms(Math.max(worst, 0.1 * (step.ms ?? 0)) || 1);
  const cell = (late: number) =>
    LEVELS[Math.round(Math.min(1, Math.max(0, late / scale)) * (LEVELS.length - 1))]!;
  // Of many ranks most would be empty lines.
  const isWorthALine = (strip: string) => many_ranks === null || strip.trim() !== '';
  const strips = rows.flatMap((row) => {
    const strip = fold(row.late_ms, width).map(cell).join('');
    return isWorthALine(strip) ? [`  rank ${String(row.rank).padStart(4)}  ${strip}`.trimEnd()] : [];
  });
  if (strips.length === 0) return [];
  const title = `  lateness by step, ${heat.steps[0]}–${heat.steps.at(-1)}, █ = ${formatTime(scale)}`;
  return [page.c.dim(shorten(title, page.width)), ...strips, ''];
}

/** At most `most` values: neighbors are replaced by the largest of them. */
function fold(values: readonly number[], most: number): number[] {
  const each = Math.ceil(values.length / most);
  return Array.from({ length: Math.ceil(values.length / each) }, (_, i) =>
    largest(values.slice(i * each, (i + 1) * each)),
  );
}

function mostly({ time }: Pick<ReportRank, 'time'>): string {
  const [first] = largestShares(time);
  return first ? `${first.name} ${formatWholePercent(first.share)}` : '–';
}

/** `late: persistent, data`, or nothing. */
function lateAs({ rank }: ReportRank, { stragglers }: Report): string {
  const straggler = stragglers.find((s) => s.ranks.includes(rank));
  return straggler ? `late: ${straggler.pattern}, ${straggler.cause}` : '';
}
