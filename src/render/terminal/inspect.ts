import pc from 'picocolors';
import { formatRanks } from '../../base/rank-ranges.js';
import type { InspectedInput, InspectReport } from '../../report/inspect-report.js';
import {
  formatBytes,
  formatCount,
  formatMs,
  formatSeconds,
  plural,
  printable,
  shorten,
  wrap,
} from './format.js';
import { gradePaint, healthProblem } from './health.js';
import { besideLines } from './inspect-beside.js';
import type { Colors } from './page.js';

const WIDTH = 80;
/** More inputs than this are summed up; `--json` lists them all. */
const MAX_LISTED = 16;

export function renderInspect(report: InspectReport, color: boolean): string {
  const c = pc.createColors(color);
  const sections = [
    headline(report, c),
    inputs(report, c),
    categories(report, c),
    health(report, c),
    c.dim(footer(report)),
  ];
  return `${sections.filter((s) => s !== '').join('\n\n')}\n`;
}

function headline(report: InspectReport, c: Colors): string {
  const { health, reading } = report;
  const paint = gradePaint(health.grade, c);
  const kinds = [
    plural(report.inputs.filter((i) => i.kind === 'kineto').length, 'trace'),
    plural(report.inputs.filter((i) => i.kind === 'events').length, 'event log'),
    plural(
      report.inputs.filter((i) => i.kind === 'operations').length,
      'table of operations',
      'tables of operations',
    ),
    plural(report.inputs.filter((i) => i.kind === 'dmon').length, 'telemetry log'),
    plural(report.inputs.filter((i) => i.kind === 'manifest').length, 'manifest'),
  ].filter((text) => !text.startsWith('0 '));
  const title = `${c.bold(kinds.join(', '))}: ${formatCount(reading.events)} events, ${formatBytes(reading.decoded_bytes)}`;
  return [`${title}   health ${paint(health.grade)}`, ...facts(report)].join('\n');
}

function facts(report: InspectReport): string[] {
  const lines = report.ranks.length > 0 ? [`  ranks    ${ranksLine(report)}`] : [];
  if (report.devices.length > 0) lines.push(`  devices  ${devicesLine(report)}`);
  const steps = stepsLine(report);
  if (steps) lines.push(`  steps    ${steps}`);
  lines.push(...besideLines(report));
  return lines.map((l) => wrap(l, WIDTH, '           ').replaceAll('\u00a0', ' '));
}

function ranksLine(report: InspectReport): string {
  const sources = new Set(report.inputs.flatMap((i) => i.rank_source ?? []));
  const said = [...sources].map(
    (s) => ({ file: 'the file', name: 'the file name', order: 'the order of files' })[s],
  );
  const of = report.world_size && report.world_size > report.ranks.length ? ` of ${report.world_size}` : '';
  return `${formatRanks(report.ranks)}${of} (from ${said.join(', ')})`;
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
  const median = sorted[sorted.length >> 1]!;
  return `${formatRanks(indices)}, median ${formatMs(median)} of host time under the profiler`;
}

function inputs(report: InspectReport, c: Colors): string {
  // One a rank: they would fill the page.
  const listed = report.inputs.filter((i) => i.kind !== 'manifest');
  const manifests = report.inputs.length - listed.length;
  const rows = listed.slice(0, MAX_LISTED).map((i) => inputLine(i, c));
  const more = listed.length - rows.length;
  if (manifests > 0) rows.push(c.dim(`  and ${plural(manifests, 'manifest')} (--json has what they say)`));
  if (more > 0) rows.push(c.dim(`  … and ${more} more (--json lists all)`));
  if (report.ignored.length > 0)
    rows.push(c.dim(`  ${plural(report.ignored.length, 'other file')} left alone`));
  return rows.join('\n');
}

function inputLine(input: InspectedInput, c: Colors): string {
  const name = shorten(printable(input.path), NAME_WIDTH).padEnd(NAME_WIDTH);
  const size = formatBytes(input.decoded_bytes).padStart(7);
  const events = `${formatCount(input.events)} ${COUNTED[input.kind]}`.padStart(14);
  const gpu = input.kind === 'kineto' ? ` ${formatCount(input.gpu_work)} GPU` : '';
  const rank = input.rank === null ? '' : `rank ${input.rank}`;
  return `  ${c.cyan(rank.padEnd(7))} ${name} ${size}${events}${c.dim(gpu)}`;
}

/** What is counted in it. */
const COUNTED: Readonly<Record<InspectedInput['kind'], string>> = {
  ...{ kineto: 'events', events: 'records', operations: 'events', dmon: 'samples', manifest: '' },
};

const NAME_WIDTH = 36;

function categories(report: InspectReport, c: Colors): string {
  if (report.categories.length === 0) return phases(report, c);
  const byName = new Map<string, number>();
  for (const k of report.categories) {
    const name = k.category || PHASE_NAMES[k.phase] || `phase ${k.phase}`;
    byName.set(name, (byName.get(name) ?? 0) + k.events);
  }
  const cells = [...byName]
    .sort((a, b) => b[1] - a[1])
    .map(([name, n]) => `${printable(name)} ${formatCount(n)}`);
  return listed(c.bold('events'), cells);
}
/** Events without a category. */
const PHASE_NAMES: Readonly<Record<string, string>> = {
  M: 'metadata',
  i: 'instant',
  I: 'instant',
  C: 'counter',
};

/** A heading and as many cells as fit a few lines. */
function listed(heading: string, cells: readonly string[]): string {
  const shown = cells.slice(0, 14).map((cell) => cell.replaceAll(' ', '\u00a0'));
  if (cells.length > shown.length) shown.push(`and\u00a0${cells.length - shown.length}\u00a0more`);
  return `  ${heading}   ${wrap(shown.join(' · '), WIDTH - 11, '')
    .replaceAll('\n', `\n${' '.repeat(11)}`)
    .replaceAll('\u00a0', ' ')}`;
}

function phases(report: InspectReport, c: Colors): string {
  const names = new Map<string, number[]>();
  for (const run of report.inputs.flatMap((i) => i.event_log?.runs ?? [])) {
    for (const p of run.phases) names.set(p.name, [...(names.get(p.name) ?? []), p.medianMs]);
  }
  const cells = [...names].map(([name, ms]) => {
    return `${printable(name)} ${formatMs(ms.reduce((a, b) => a + b, 0) / ms.length)}`;
  });
  return cells.length ? listed(c.bold('phases'), cells) : '';
}

function health(report: InspectReport, c: Colors): string {
  const page = { width: WIDTH, c };
  return report.health.problems.flatMap((p) => healthProblem(p, report.ranks.length > 1, page)).join('\n');
}

function footer(report: InspectReport): string {
  const { seconds, mb_per_s, stored_bytes } = report.reading;
  return `  read ${formatBytes(stored_bytes)} in ${formatSeconds(seconds)}, ${Math.round(mb_per_s)} MB/s of JSON`;
}
