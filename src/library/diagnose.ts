import { InputError } from '../base/input-error.js';
import { summariseHealth } from '../diagnosis/health/health.js';
import {
  besideProblems,
  comparedRank,
  meshProblems,
  placesOf,
  type RunPlaces,
  withTelemetry,
} from '../diagnosis/places.js';
import type { RankView, RunFacts } from '../diagnosis/run-facts.js';
import { judge } from '../diagnosis/verdict.js';
import { viewsOf } from '../diagnosis/views.js';
import { sumOfClasses, type TimeByClass, totals } from '../facts/time-class.js';
import { keepOneRun } from '../ingest/one-run.js';
import type { RankedMember } from '../ingest/ranks.js';
import { type ProgressSink, type RunInputs, readInputs } from '../ingest/read-run.js';
import type { TaskMember } from '../ingest/task.js';
import {
  acrossOf,
  clockOf,
  collectivesOf,
  coordinatesOf,
  criticalView,
  heatOf,
  lateComputingOf,
  stragglersOf,
  withStragglers,
  withWaiting,
} from '../report/across.js';
import { criticalPathOf, whatIfAcross } from '../report/path-report.js';
import type { Report, ReportRank, TimeShares } from '../report/report.js';
import { toolInfo } from '../report/tool-info.js';
import { captureNext, type Decision, decide, inWords } from '../report/verdict-words.js';
import { answerFromTable, whatIfFields, whatIfOf } from '../report/what-if-report.js';
import { RULES } from '../rules/list.js';
import { runRules } from '../rules/run-rules.js';
import { type Comparison, compareRanks } from '../run/compare.js';
import type { StepRange } from '../traces/timeline/step-times.js';

export interface DiagnoseOptions {
  /** Null: all. */
  readonly steps: StepRange | null;
  readonly ranks: readonly number[] | null;
  /** Files read at once. */
  readonly jobs?: number;
  readonly progress?: ProgressSink;
}

/** Reads everything under the paths and says why it is slow. Throws InputError when there is nothing to say it from. */
export async function diagnose(paths: readonly string[], options: DiagnoseOptions): Promise<Report> {
  const { jobs, progress } = options;
  const run = await readInputs(paths, {
    want: { facts: { steps: options.steps } },
    ...(jobs === undefined ? {} : { jobs }),
    ...(progress === undefined ? {} : { progress }),
  });
  return buildReport(await inFull(keepOneRun(run), options), options);
}

/** Of many ranks only some were looked at in full: the late ones must be, for their own findings say why. */
async function inFull(run: RunInputs, options: DiagnoseOptions): Promise<RunInputs> {
  if (!run.members.some((m) => m.member.facts?.light)) return run;
  const views = viewsOf(run.members, options.steps);
  const places = placesOf(run);
  const comparison = compareRanks(views.map((view) => comparedRank(view, places)));
  const wanted = new Set((comparison?.late ?? []).flatMap((l) => l.ranks.slice(0, 2)).slice(0, MOST_IN_FULL));
  const files = run.members
    .filter((m) => wanted.has(m.rank) && m.member.facts?.light)
    .map((m) => m.member.file);
  if (files.length === 0) return run;
  const again = await readInputs([...new Set(files)], { want: { facts: { steps: options.steps } } });
  const byPath = new Map(again.members.map((m) => [m.member.path, m.member]));
  return {
    ...run,
    members: run.members.map((m) => ({ ...m, member: byPath.get(m.member.path) ?? m.member })),
  };
}

const MOST_IN_FULL = 4;

export function buildReport(run: RunInputs, options: Pick<DiagnoseOptions, 'ranks' | 'steps'>): Report {
  const members = chooseRanks(run.members, options.ranks);
  const views = viewsOf(members, options.steps);
  if (views.length === 0 && options.steps !== null)
    throw new InputError('none of the steps asked for was recorded');
  const places = placesOf(run);
  const comparison = withTelemetry(compareRanks(views.map((v) => comparedRank(v, places))), places);
  const divided = views.map((view) => withWaiting(view, comparison));
  const critical = criticalView(comparison, views);
  const lateComputing = lateComputingOf(comparison);
  const judged = (critical ? [critical] : divided).map((view) => ({
    ...{ view, verdict: judge(view, lateComputing) },
  }));
  const decision = withStragglers(
    decide(judged, healthOf(run, members, views, places, []).grade),
    comparison,
  );
  const facts: RunFacts = {
    ranks: divided,
    verdict: { bottleneck: decision.bottleneck, confidence: decision.confidence },
    across: acrossOf(comparison, places.ranks),
    gpus: places.gpus,
  };
  const rules = runRules(RULES, facts);
  const slowest = decision.view;
  const job = whatIfOf(members);
  const table = job && views.length === 0 ? answerFromTable(job) : null;
  const report: Report = {
    schema: 'whyslow/report/1',
    verdict: {
      bottleneck: decision.bottleneck,
      cause: causeOf(decision, rules.findings),
      confidence: decision.confidence,
      sentence: inWords(decision),
      second: decision.second,
      next: decision.bottleneck === 'unknown' ? captureNext(decision) : [],
    },
    step: stepOf(slowest),
    time: slowest ? sharesOf(slowest.time) : sharesOf(totals(() => 0)),
    findings: [...rules.findings],
    silent: [...rules.silent],
    ranks: divided.map((view) => rankOf(view, places, comparison)),
    stragglers: stragglersOf(comparison),
    heat: heatOf(comparison),
    critical_path: criticalPathOf(comparison),
    collectives: collectivesOf(comparison),
    what_if: job ? whatIfFields(job) : whatIfAcross(comparison),
    inputs: [
      ...members.map((m) => inputOf(m.member, m.rank)),
      ...run.beside.map((m) => inputOf(m, besideRank(m))),
    ],
    ignored: [...run.ignored],
    health: healthOf(run, members, views, places, [...meshProblems(comparison, places), ...rules.problems]),
    tool: toolInfo(),
  };
  // A table of operations alone: there are no traces to judge, but a job to play again.
  return table ? { ...report, ...table } : report;
}

function chooseRanks(
  members: readonly RankedMember[],
  ranks: readonly number[] | null,
): readonly RankedMember[] {
  if (ranks === null) return members;
  const wanted = new Set(ranks);
  const chosen = members.filter((m) => wanted.has(m.rank));
  if (chosen.length > 0) return chosen;
  const there = [...new Set(members.map((m) => m.rank))].sort((a, b) => a - b);
  throw new InputError(
    `none of the ranks asked for was captured; there are ${there.slice(0, 20).join(', ')}${there.length > 20 ? ', …' : ''}`,
  );
}

function causeOf(decision: Decision, findings: Report['findings']): string {
  const target = decision.bottleneck === 'compute' ? 'gpu' : decision.bottleneck;
  return findings.find((f) => f.addresses === target)?.id ?? decision.cause;
}

function stepOf(view: RankView | null): Report['step'] {
  if (!view)
    return {
      ms: null,
      source: 'host',
      profiled_ms: null,
      corrected: false,
      count: 0,
      first: null,
      last: null,
    };
  const { steps, hasGpuWork } = view.facts;
  return {
    ms: inMs(view.step),
    source: view.measuredUnprofiled ? 'events' : hasGpuWork ? 'gpu-timeline' : 'host',
    profiled_ms: view.facts.source === 'trace' ? inMs(steps.profiled) : null,
    corrected: !view.measuredUnprofiled,
    ...{ count: steps.count, first: steps.first, last: steps.last },
  };
}

const inMs = (ns: number) => Math.round(ns / 1e3) / 1e3;

/** Fractions that add up to 1. */
function sharesOf(time: TimeByClass): TimeShares {
  const sum = sumOfClasses(time);
  return totals((c) => (sum > 0 ? time[c] / sum : 0));
}

function rankOf(view: RankView, places: RunPlaces, comparison: Comparison | null): ReportRank {
  const { rank } = view;
  const place = places.ranks.get(rank);
  const { gpu } = view.facts;
  const us = (ns: number) => ns / 1e3;
  return {
    ...{
      rank,
      host: place?.host ?? null,
      coordinates: place?.coordinates ?? coordinatesOf(comparison, rank),
      step_ms: inMs(view.step),
      time: sharesOf(view.time),
      clock: clockOf(comparison, rank),
    },
    gpu: gpu && {
      span_us: us(gpu.span),
      compute_us: us(gpu.compute),
      non_compute_us: us(gpu.nonCompute),
      idle_us: us(gpu.idle),
      comm_overlap: gpu.commOverlap,
    },
  };
}

/** A rank's manifest tells about that rank; others are of the run, or of a machine. */
const besideRank = ({ manifest }: TaskMember) => (manifest?.of === 'rank' ? manifest.rank : null);

function inputOf(member: TaskMember, rank: number | null): Report['inputs'][number] {
  return {
    path: member.path,
    kind: member.kind,
    rank,
    bytes: member.storedBytes,
    events: member.identity.events,
    problems: [...member.problems],
  };
}

function healthOf(
  run: RunInputs,
  members: readonly RankedMember[],
  views: readonly RankView[],
  places: RunPlaces,
  others: RunInputs['problems'],
): Report['health'] {
  const perRank = [
    ...members.map(({ member, rank }) => ({ rank, problems: member.checks })),
    ...views.map(({ rank, notes }) => ({ rank, problems: notes })),
  ];
  const windows = members.flatMap(({ member, rank }) => {
    const summary = member.traceSummary;
    if (!summary) return [];
    const { startNs, endNs } = summary.window;
    return [
      {
        group: String(member.hints.step ?? ''),
        rank,
        startNs,
        endNs,
        worldSize: summary.distributed?.worldSize ?? null,
      },
    ];
  });
  const ofTheRun = [...run.problems, ...besideProblems(run), ...places.problems, ...others];
  const seen = { ranks: members.map((m) => m.rank), worldSize: places.worldSize };
  return summariseHealth(perRank, ofTheRun, windows, seen);
}
