import { INCIDENT_CAUSES, INCIDENT_KINDS, type Incident } from '../../model/incident.js';
import type { WatchedRun } from '../watched-run.js';

/** More series than these make a Prometheus server unhappy: the latest pace of each rank is left out then. */
const MOST_RANKS = 1024;

/** What is known of a run, in the text format of Prometheus (version 0.0.4). Names end in their unit. */
export function metricsText(run: WatchedRun): string {
  const { incidents, job, ranks, step, time, usualMs } = run;
  const open = incidents.filter((i) => i.alarm && i.state === 'open');
  const alarms = (of: (i: Incident) => boolean) => incidents.filter((i) => i.alarm && of(i)).length;
  const latest = job.at(-1);
  const names = run.runId === null ? {} : { run: run.runId };
  const pace = (points: WatchedRun['job']) => {
    const last = points.at(-1);
    return last ? last.ms / last.steps / 1000 : null;
  };
  const families: readonly Family[] = [
    ['whyslow_step', 'gauge', 'Last step that was read.', [[names, step]]],
    [
      'whyslow_last_step_timestamp_seconds',
      'gauge',
      'When it was, in seconds since 1970.',
      [[names, time === null ? null : time / 1000]],
    ],
    [
      'whyslow_step_seconds',
      'gauge',
      'Time per step lately, without saving and evaluating.',
      [[names, latest ? latest.ms / latest.steps / 1000 : null]],
    ],
    [
      'whyslow_usual_step_seconds',
      'gauge',
      'Time per step that is usual.',
      [[names, usualMs === null ? null : usualMs / 1000]],
    ],
    [
      'whyslow_rank_own_seconds',
      'gauge',
      'Time per step of a rank lately, without waiting for others.',
      ranks.length <= MOST_RANKS
        ? ranks.map(({ rank, points }) => [{ ...names, rank: `${rank}` }, pace(points)] as const)
        : [],
    ],
    [
      'whyslow_incidents_total',
      'counter',
      'Incidents found in the run, by what they are.',
      INCIDENT_KINDS.map((kind) => [{ ...names, kind }, alarms((i) => i.kind === kind)] as const).filter(
        ([{ kind }]) => kind !== 'faster' && kind !== 'more-work',
      ),
    ],
    [
      'whyslow_incident_open',
      'gauge',
      'Incidents that go on, by cause.',
      INCIDENT_CAUSES.filter((cause) => cause !== 'more-work').map(
        (cause) => [{ ...names, cause }, open.filter((i) => i.cause === cause).length] as const,
      ),
    ],
    [
      'whyslow_lost_ranks',
      'gauge',
      'Time that open incidents cost, in ranks (GPUs): hours per hour.',
      [[names, open.reduce((most, i) => Math.max(most, i.rank_hours_per_hour ?? 0), 0)]],
    ],
    ['whyslow_watch_up', 'gauge', 'The folder of the job can be reached.', [[names, run.isThere ? 1 : 0]]],
  ];
  return `${families.flatMap(linesOf).join('\n')}\n`;
}

type Labels = Readonly<Record<string, string>>;
type Family = readonly [
  name: string,
  type: 'gauge' | 'counter',
  help: string,
  samples: readonly (readonly [labels: Labels, value: number | null])[],
];

function linesOf([name, type, help, samples]: Family): string[] {
  const known = samples.filter(([, value]) => value !== null && Number.isFinite(value));
  if (known.length === 0) return [];
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...known.map(([labels, value]) => `${name}${labelsText(labels)} ${value}`),
  ];
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

const escaped = (text: string) =>
  text.slice(0, 200).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replace(/\s+/g, ' ');
