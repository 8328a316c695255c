import { groupBy } from '../../base/group-by.js';
import { printable } from '../../base/printable.js';
import { formatRanks } from '../../base/rank-ranges.js';
import { largest, mean } from '../../base/statistics.js';
import {
  bytes,
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatTime,
  formatWhole,
  ms,
  seconds,
} from '../../base/units.js';
import {
  type InspectedInput,
  type InspectLine,
  type InspectReport,
  linesByKind,
} from '../../report/inspect-report.js';
import { gradePaint, healthProblem, type Page, pageFor, paragraph } from './page.js';
import { lastOf, padToWidth, wrap } from './text.js';

/** Of the file list: all columns but the name. */
const OTHER_COLUMNS = 44;
const MIN_NAME = 16;
/** Up to this many files are listed; `--json` has all. */
const MAX_LISTED = 16;
const MAX_CELLS = 14;

export interface InspectPage {
  readonly color: boolean;
  /** Width of the terminal. Undefined when the output is not a terminal. */
  readonly columns?: number | undefined;
}

export function renderInspect(report: InspectReport, { color, columns }: InspectPage): string {
  const page = pageFor(color, columns);
  const { c } = page;
  const sections = [
    headline(report, page),
    inputs(report, page),
    report.categories.length > 0 ? categories(report, page) : phases(report, page),
    health(report, page),
    c.dim(footer(report)),
  ];
  return `${sections.filter((s) => s !== '').join('\n\n')}\n`;
}

function headline(report: InspectReport, page: Page): string {
  const { c } = page;
  const { health, reading } = report;
  const kinds = Object.entries(linesByKind(report)).flatMap(([kind, { one, many }]) => {
    const count = report.inputs.filter((i) => i.kind === kind).length;
    return count > 0 ? [formatCount(count, one, many)] : [];
  });
  const size = formatBytes(bytes(reading.decoded_bytes));
  const title = `${kinds.join(', ')}: ${formatNumber(reading.events)} events, ${size}`;
  const grade = `health ${gradePaint(health.grade, c)(health.grade)}`;
  const fits = `${title}   health ${health.grade}`.length <= page.width;
  const lines = fits
    ? [`${c.bold(title)}   ${grade}`]
    : [...paragraph(title, page, '', c.bold), `  ${grade}`];
  return [...lines, ...facts(report, page)].join('\n');
}

function facts(report: InspectReport, page: Page): string[] {
  const lines = report.ranks.length > 0 ? [`  ranks    ${ranksLine(report)}`] : [];
  if (report.devices.length > 0) lines.push(`  devices  ${devicesLine(report)}`);
  const steps = stepsLine(report);
  if (steps) lines.push(`  steps    ${steps}`);
  return [...lines, ...besideLines(report)].map((l) =>
    wrap(l, page.width, '           ').replaceAll('\u00a0', ' '),
  );
}

const RANK_SOURCES = { file: 'the file', name: 'the file name', order: 'the order of files' } as const;

function ranksLine(report: InspectReport): string {
  const sources = new Set(report.inputs.flatMap((i) => i.rank_source ?? []));
  const of = report.world_size && report.world_size > report.ranks.length ? ` of ${report.world_size}` : '';
  return `${formatRanks(report.ranks)}${of} (from ${[...sources].map((s) => RANK_SOURCES[s]).join(', ')})`;
}

function devicesLine(report: InspectReport): string {
  const names = new Map<string, number>();
  for (const d of report.devices) names.set(d.name, (names.get(d.name) ?? 0) + 1);
  return [...names].map(([name, n]) => `${n > 1 ? `${n} × ` : ''}${printable(name)}`).join(', ');
}

function stepsLine(report: InspectReport): string | null {
  const steps = report.inputs.flatMap((i) => i.steps);
  if (steps.length === 0) return null;
  const indices = [...new Set(steps.map((s) => s.index))];
  const sorted = steps.map((s) => s.hostMs).sort((a, b) => a - b);
  const median = ms(sorted[sorted.length >> 1]!);
  return `${formatRanks(indices)}, median ${formatTime(median)} of host time under the profiler`;
}

function inputs(report: InspectReport, page: Page): string {
  const { c } = page;
  const lines = linesByKind(report);
  const isUnlisted = (i: InspectedInput) => lines[i.kind]!.isUnlisted === true;
  const listed = report.inputs.filter((i) => !isUnlisted(i));
  const rows = listed.slice(0, MAX_LISTED).map((i) => inputLine(i, lines[i.kind]!, page));
  const more = listed.length - rows.length;
  for (const [, own] of groupBy(report.inputs.filter(isUnlisted), (i) => i.kind)) {
    const { one, many } = lines[own[0]!.kind]!;
    rows.push(c.dim(`  and ${formatCount(own.length, one, many)} (--json has their contents)`));
  }
  if (more > 0) rows.push(c.dim(`  … and ${more} more (--json lists all)`));
  if (report.ignored.length > 0)
    rows.push(c.dim(`  ${formatCount(report.ignored.length, 'other file')} ignored`));
  return rows.join('\n');
}

function inputLine(input: InspectedInput, { counts, isTrace }: InspectLine, { width, c }: Page): string {
  const room = Math.max(MIN_NAME, width - OTHER_COLUMNS);
  const name = padToWidth(lastOf(printable(input.path), room), room);
  const size = formatBytes(bytes(input.decoded_bytes)).padStart(7);
  const events = `${formatNumber(input.events)} ${counts}`.padStart(14);
  const gpu = isTrace ? ` ${formatNumber(input.gpu_work)} GPU` : '';
  const rank = input.rank === null ? '' : `rank ${input.rank}`;
  return `  ${c.cyan(rank.padEnd(7))} ${name} ${size}${events}${c.dim(gpu)}`;
}

/** Names for events without a category, by their `ph`; empty for those that the reader has set aside. */
const PHASE_NAMES: Readonly<Record<string, string>> = {
  M: 'metadata',
  i: 'instant',
  I: 'instant',
  C: 'counter',
  '': 'without a usable time',
};

function categories(report: InspectReport, page: Page): string {
  const byName = new Map<string, number>();
  for (const k of report.categories) {
    const name = k.category || PHASE_NAMES[k.phase] || `phase ${k.phase}`;
    byName.set(name, (byName.get(name) ?? 0) + k.events);
  }
  const cells = [...byName]
    .sort((a, b) => b[1] - a[1])
    .map(([name, n]) => `${printable(name)} ${formatNumber(n)}`);
  return cellList('events', cells, page);
}

/** The phases of event logs, with the mean over runs of their medians. */
function phases(report: InspectReport, page: Page): string {
  const logged = report.inputs.flatMap((i) => i.event_log?.runs ?? []).flatMap((run) => run.phases);
  const cells = [...groupBy(logged, (p) => p.name)].map(([name, all]) => {
    const medians = all.flatMap((p) => p.medianMs ?? []);
    return `${printable(name)} ${medians.length > 0 ? formatTime(ms(mean(medians))) : '–'}`;
  });
  return cells.length > 0 ? cellList('phases', cells, page) : '';
}

/** A heading, then the first cells. A cell is never broken. */
function cellList(heading: string, cells: readonly string[], { width, c }: Page): string {
  const shown = cells.slice(0, MAX_CELLS);
  if (cells.length > shown.length) shown.push(`and ${cells.length - shown.length} more`);
  const text = shown.map((cell) => cell.replaceAll(' ', '\u00a0')).join(' · ');
  const lines = wrap(text, width - 11, '')
    .replaceAll('\u00a0', ' ')
    .split('\n');
  return `  ${c.bold(heading)}   ${lines.join(`\n${' '.repeat(11)}`)}`;
}

const health = (report: InspectReport, page: Page) =>
  report.health.problems.flatMap((p) => healthProblem(p, report.ranks.length > 1, page)).join('\n');

function footer({ reading: { seconds: time, mb_per_s, stored_bytes } }: InspectReport): string {
  const size = formatBytes(bytes(stored_bytes));
  return `  read ${size} in ${formatDuration(seconds(time))}, ${Math.round(mb_per_s)} MB/s of JSON`;
}

/** What manifests and telemetry add, one line each. */
function besideLines({ inputs }: InspectReport): string[] {
  const runs = inputs.flatMap((i) => (i.manifest?.of === 'run' ? [i.manifest] : []));
  const mesh = runs.findLast((r) => r.mesh !== null)?.mesh ?? null;
  const gpus = inputs.flatMap((i) => i.gpus ?? []);
  const axes = mesh?.map((a) => `${printable(a.name)} ${a.size}`).join(' × ');
  return [
    ...(axes ? [`  mesh     ${axes}`] : []),
    ...(gpus.length > 0 ? [`  gpus     ${gpusLine(gpus)}`] : []),
  ];
}

type Gpus = NonNullable<InspectReport['inputs'][number]['gpus']>;

function gpusLine(gpus: Gpus): string {
  const figures = [
    [gpus.map((g) => g.utilization), mean, '%\u00a0busy'],
    [gpus.map((g) => g.clock), mean, '\u00a0MHz'],
    [gpus.map((g) => g.power), mean, '\u00a0W'],
    [gpus.map((g) => g.temperature), largest, '\u00a0°C\u00a0at most'],
  ] as const;
  const parts = figures.flatMap(([all, summary, unit]) => {
    const known = all.filter((v) => v !== null);
    return known.length > 0 ? [`${formatWhole(summary(known))}${unit}`] : [];
  });
  return `${formatCount(gpus.length, 'GPU')} in telemetry${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
}
