import { largest, median, smallest } from '../../base/statistics.js';
import { formatCount, formatTime, formatWhole, ms } from '../../base/units.js';

import type { Incident, WatchedRun } from '../../watch/watched-run.js';
import { renderIncident } from './incidents.js';
import { oneLine, type Page, pageFor, paragraph } from './page.js';
import { displayWidth, padToWidth, shorten } from './text.js';

interface WatchPage {
  readonly color: boolean;
  readonly columns?: number | undefined;
  /** Lines that fit. */
  readonly rows?: number | undefined;
  /** ms since 1970. */
  readonly now: number;
}

const USUAL_ROWS = 24;
/** Ranks shown: those with an incident, then the slowest. */
const LEAST_RANKS = 4;
const MOST_INCIDENTS = 8;
const BARS = [...'▁▂▃▄▅▆▇█'];
/** A line whose values differ by less than this share is flat: noise must not look like a change. */
const FLAT = 0.1;

/** One screen: where the run is, a line for the job and for its ranks with incidents marked, and the incidents. */
export function renderWatch(run: WatchedRun, { color, columns, rows, now }: WatchPage): string {
  const page = pageFor(color, columns);
  const { c } = page;
  const head = [c.bold(shorten(oneLine(run.out), page.width)), ...statusLines(run, now, page)];
  const incidents = incidentLines(run.incidents, page);
  const room = Math.max(LEAST_RANKS, (rows ?? USUAL_ROWS) - head.length - incidents.length - 6);
  const sections = [head, lines(run, room, page), incidents].filter((s) => s.length > 0);
  return `${sections.map((s) => s.join('\n')).join('\n\n')}\n`;
}

function statusLines(run: WatchedRun, now: number, page: Page): string[] {
  const { step, time, usualMs, job, ranks } = run;
  if (!run.isThere) return [page.c.yellow('the folder cannot be reached; waiting for it')];
  if (step === null) return ['no step so far'];
  const last = job.at(-1);
  const pace = last ? `${formatTime(ms(last.ms / last.steps))} per step` : 'pace not known yet';
  const usual = usualMs === null ? 'learning what is usual' : `usual ${formatTime(ms(usualMs))}`;
  const age = time === null ? '' : `, ${ageOf((now - time) / 1000)} ago`;
  const status = `step ${formatWhole(step)}${age} · ${pace} · ${usual} · ${formatCount(ranks.length, 'rank')}`;
  const problem = run.writeProblem
    ? paragraph(`incidents.jsonl cannot be written (${run.writeProblem})`, page, '', page.c.yellow)
    : [];
  return [...paragraph(status, page, ''), ...problem];
}

function ageOf(s: number): string {
  if (!(s >= 1)) return '1 s';
  if (s < 120) return `${Math.round(s)} s`;
  return s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}

function lines(run: WatchedRun, room: number, page: Page): string[] {
  if (run.job.length < 2) return [];
  const shown = shownRanks(run, Math.max(LEAST_RANKS, room - 3));
  const names = ['job', ...shown.map(({ rank }) => `rank ${rank}`)];
  const width = largest(names.map(displayWidth));
  const plot = Math.max(10, page.width - width - 14);
  const [first, last] = [run.job[0]!.first, run.job.at(-1)!.last];
  const row = (name: string, points: WatchedRun['job'], marks: readonly Incident[]) => {
    const end = points.at(-1)!;
    const bars = barsOf(points, first, last, plot, marks, page);
    return `${padToWidth(name, width)}  ${bars}  ${formatTime(ms(end.ms / end.steps))}`;
  };
  const alarms = run.incidents.filter((i) => i.alarm);
  const of = (rank: number) => alarms.filter((i) => i.ranks.includes(rank));
  const hidden = run.ranks.length - shown.length;
  return [
    row('job', run.job, alarms),
    ...shown.map(({ rank, points }) => row(`rank ${rank}`, points, of(rank))),
    ...(hidden > 0 && shown.length > 0 ? [page.c.dim(`… and ${formatCount(hidden, 'more rank')}`)] : []),
    page.c.dim(
      `${' '.repeat(width + 2)}step ${formatWhole(first)} to ${formatWhole(last)}${shown.length > 0 ? '; ranks: their own time, without waiting for others' : ''}`,
    ),
  ];
}

/** One rank alone is the job. */
function shownRanks({ ranks, incidents }: WatchedRun, room: number): WatchedRun['ranks'] {
  if (ranks.length < 2) return [];
  const named = new Set(incidents.filter((i) => i.alarm).flatMap((i) => i.ranks));
  const pace = ({ points }: WatchedRun['ranks'][number]) => {
    const last = points.at(-1);
    return last ? last.ms / last.steps : 0;
  };
  return ranks
    .filter((r) => r.points.length > 0)
    .toSorted((a, b) => Number(named.has(b.rank)) - Number(named.has(a.rank)) || pace(b) - pace(a))
    .slice(0, room)
    .toSorted((a, b) => a.rank - b.rank);
}

function barsOf(
  points: WatchedRun['job'],
  first: number,
  last: number,
  width: number,
  marks: readonly Incident[],
  { c }: Page,
): string {
  const sums = Array.from({ length: width }, () => ({ ms: 0, steps: 0 }));
  const columnOf = (step: number) =>
    Math.max(0, Math.min(width - 1, Math.floor(((step - first) / Math.max(1, last - first)) * width)));
  for (const p of points)
    for (let x = columnOf(p.first); x <= columnOf(p.last - 1); x++) {
      sums[x]!.ms += p.ms;
      sums[x]!.steps += p.steps;
    }
  const values = sums.map((s) => (s.steps > 0 ? s.ms / s.steps : Number.NaN));
  const known = values.filter((v) => !Number.isNaN(v));
  const low = smallest(known);
  const high = Math.max(largest(known), low + FLAT * median(known) * BARS.length);
  const isMarked = (x: number) =>
    marks.some((i) => columnOf(i.step) <= x && x <= columnOf(i.until_step ?? last));
  return values
    .map((v, x) => {
      if (Number.isNaN(v)) return ' ';
      const bar = BARS[Math.min(BARS.length - 1, Math.floor(((v - low) / (high - low)) * BARS.length))]!;
      return isMarked(x) ? c.red(bar) : bar;
    })
    .join('');
}

function incidentLines(incidents: readonly Incident[], page: Page): string[] {
  if (incidents.length === 0) return [page.c.dim('no incidents')];
  const newest = incidents.slice(-MOST_INCIDENTS).reverse();
  const more = incidents.length - newest.length;
  return [
    ...newest.flatMap((i) => renderIncident(i, page)),
    ...(more > 0 ? [page.c.dim(`… and ${more} earlier (incidents.jsonl lists them)`)] : []),
  ];
}
