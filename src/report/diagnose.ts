import { fromEventLog } from '../analyses/collectives/from-event-log.js';
import { asRankFacts } from '../analyses/events/as-rank-facts.js';
import { analyseEventLog, type EventFacts } from '../analyses/events/event-facts.js';
import { unprofiledLog } from '../analyses/events/join-step.js';
import { summariseHealth } from '../analyses/health/health.js';
import { type ComparedRank, type Comparison, compareRanks } from '../analyses/ranks/compare.js';
import type { TimeByClass } from '../analyses/timeline/accounting.js';
import { totals } from '../analyses/timeline/accounting.js';
import { InputError } from '../base/input-error.js';
import type { RankedMember } from '../ingest/ranks.js';
import { type ProgressSink, type RunInputs, readInputs } from '../ingest/read-run.js';
import { RULES } from '../rules/list.js';
import { viewRank } from '../rules/rank-view.js';
import type { RankView, RunFacts } from '../rules/run-facts.js';
import { runRules } from '../rules/run-rules.js';
import { judge } from '../rules/verdict.js';
import {
  acrossOf,
  clockOf,
  collectivesOf,
  coordinatesOf,
  criticalView,
  heatOf,
  stragglersOf,
  whatIfAcross,
  withStragglers,
  withWaiting,
} from './across.js';
import type { Report, ReportRank, TimeShares } from './report.js';
import { toolInfo } from './tool-info.js';
import { captureNext, type Decision, decide, inWords } from './verdict-words.js';
import { answerFromTable, whatIfFields, whatIfOf } from './what-if-report.js';

export interface DiagnoseOptions {
  /** Both ends included; null: open. */
  readonly steps: { readonly first: number | null; readonly last: number | null } | null;
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
  return buildReport(await inFull(run, options), options);
}

/** Of many ranks only some were looked at in full: the late ones must be, for their own findings say why. */
async function inFull(run: RunInputs, options: DiagnoseOptions): Promise<RunInputs> {
  if (!run.members.some((m) => m.member.facts?.light)) return run;
  const views = viewsOf(run.members);
  const comparison = compareRanks(views.map((view) => comparedRank(run.members, view)));
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
  const views = viewsOf(members);
  if (views.length === 0 && options.steps !== null)
    throw new InputError('none of the steps asked for is in the traces');
  const comparison = compareRanks(views.map((view) => comparedRank(members, view)));
  const divided = views.map((view) => withWaiting(view, comparison));
  const critical = criticalView(comparison, views);
  const judged = (critical ? [critical] : divided).map((view) => ({ view, verdict: judge(view) }));
  const decision = withStragglers(decide(judged, healthOf(run, members, []).grade), comparison);
  const hosts = new Map(views.map((v) => [v.rank, hostOf(members, v)]));
  const facts: RunFacts = {
    ranks: divided,
    verdict: { bottleneck: decision.bottleneck, confidence: decision.confidence },
    across: acrossOf(comparison, hosts),
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
    ranks: divided.map((view) => rankOf(view, hosts.get(view.rank) ?? null, comparison)),
    stragglers: stragglersOf(comparison),
    heat: heatOf(comparison),
    collectives: collectivesOf(comparison),
    what_if: job ? whatIfFields(job) : whatIfAcross(comparison),
    inputs: members.map(inputOf),
    ignored: [...run.ignored],
    health: healthOf(run, members, rules.problems),
    tool: toolInfo(),
  };
  // A table of operations alone: there are no traces to judge, but a job to play again.
  return table ? { ...report, ...table } : report;
}

/** One view a rank: its trace, with unprofiled steps where a log has them; or the log alone. */
function viewsOf(members: readonly RankedMember[]): RankView[] {
  const logs = members.flatMap(({ member, rank }) =>
    member.log ? analyseEventLog(member.log).map((f) => (f.rank < 0 ? { ...f, rank } : f)) : [],
  );
  const collectives = new Map(
    members.flatMap(({ member, rank }) =>
      (member.log?.runs ?? []).flatMap((run) =>
        fromEventLog(run).map((c) => [`${run.id} ${c.rank < 0 ? rank : c.rank}`, c.collectives] as const),
      ),
    ),
  );
  const logView = (f: EventFacts) =>
    viewRank(f.rank, asRankFacts(f, collectives.get(`${f.run} ${f.rank}`) ?? null), f);
  const traced = members.flatMap(({ member: { facts }, rank }) =>
    facts ? [viewRank(rank, facts, unprofiledLog(logs, rank, facts.time.idle_data))] : [],
  );
  const seen = new Set(traced.map((v) => v.rank));
  const newest = new Map(logs.filter((f) => !seen.has(f.rank)).map((f) => [f.rank, f]));
  return [...traced, ...[...newest.values()].map(logView)].sort((a, b) => a.rank - b.rank);
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
  const sum = Object.values(time).reduce((a, b) => a + b, 0);
  return totals((c) => (sum > 0 ? time[c] / sum : 0));
}

function comparedRank(members: readonly RankedMember[], view: RankView): ComparedRank {
  const own = members.find((m) => m.member.facts === view.facts)?.member;
  return {
    ...{ rank: view.rank, host: hostOf(members, view), facts: view.facts },
    worldSize: own?.traceSummary?.distributed?.worldSize ?? null,
    coordinates: own?.hints.coordinates ? axes(own.hints.coordinates) : null,
  };
}

/** Names of files have the place in the mesh, but not what its axes are called. */
const axes = (coordinates: readonly number[]) =>
  Object.fromEntries(coordinates.map((c, i) => [`axis${i}`, c]));

/** Of the rank's trace, or of any file that names one. */
function hostOf(members: readonly RankedMember[], view: RankView): string | null {
  const own = members.filter((m) => m.rank === view.rank);
  const traced = own.find((m) => m.member.facts === view.facts);
  const hosts = [...(traced ? [traced] : []), ...own].map(
    (m) => m.member.traceSummary?.hostName ?? m.member.hints.host,
  );
  return hosts.find((h) => h !== null) ?? null;
}

function rankOf(view: RankView, host: string | null, comparison: Comparison | null): ReportRank {
  const { rank } = view;
  const { gpu } = view.facts;
  const us = (ns: number) => ns / 1e3;
  return {
    ...{
      rank,
      host,
      coordinates: coordinatesOf(comparison, rank),
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

function inputOf({ member, rank }: RankedMember): Report['inputs'][number] {
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
  ofRules: RunInputs['problems'],
): Report['health'] {
  const perRank = members.map(({ member, rank }) => ({ rank, problems: member.checks }));
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
  return summariseHealth(perRank, [...run.problems, ...ofRules], windows);
}
