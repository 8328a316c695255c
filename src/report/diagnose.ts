import { asRankFacts } from '../analyses/events/as-rank-facts.js';
import { analyseEventLog, type EventFacts } from '../analyses/events/event-facts.js';
import { joinUnprofiledStep } from '../analyses/events/join-step.js';
import { summariseHealth } from '../analyses/health/health.js';
import type { RankFacts } from '../analyses/rank-facts.js';
import type { TimeByClass } from '../analyses/timeline/accounting.js';
import { totals } from '../analyses/timeline/accounting.js';
import { InputError } from '../base/input-error.js';
import type { RankedMember } from '../ingest/ranks.js';
import { type ProgressSink, type RunInputs, readInputs } from '../ingest/read-run.js';
import { RULES } from '../rules/list.js';
import { type Unprofiled, viewRank } from '../rules/rank-view.js';
import type { RankView, RunFacts } from '../rules/run-facts.js';
import { runRules } from '../rules/run-rules.js';
import { judge } from '../rules/verdict.js';
import type { Report, ReportRank, TimeShares } from './report.js';
import { toolInfo } from './tool-info.js';
import { captureNext, type Decision, decide, inWords } from './verdict-words.js';

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
  return buildReport(run, options);
}

export function buildReport(run: RunInputs, options: Pick<DiagnoseOptions, 'ranks' | 'steps'>): Report {
  const members = chooseRanks(run.members, options.ranks);
  const views = viewsOf(members);
  if (views.length === 0 && options.steps !== null)
    throw new InputError('none of the steps asked for is in the traces');
  const decision = decide(views.map((view) => ({ view, verdict: judge(view) })));
  const facts: RunFacts = {
    ranks: views,
    verdict: { bottleneck: decision.bottleneck, confidence: decision.confidence },
  };
  const rules = runRules(RULES, facts);
  const slowest = decision.view;
  return {
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
    ranks: views.map((view) => rankOf(view, hostOf(members, view))),
    stragglers: [],
    heat: null,
    collectives: null,
    what_if: null,
    inputs: members.map(inputOf),
    ignored: [...run.ignored],
    health: healthOf(run, members, rules.problems),
    tool: toolInfo(),
  };
}

/** One view a rank: its trace, with unprofiled steps where a log has them; or the log alone. */
function viewsOf(members: readonly RankedMember[]): RankView[] {
  const logs = members.flatMap(({ member, rank }) =>
    member.log ? analyseEventLog(member.log).map((f) => (f.rank < 0 ? { ...f, rank } : f)) : [],
  );
  const traced = members.flatMap(({ member, rank }) =>
    member.facts ? [viewRank(rank, member.facts, unprofiledOf(logs, rank, member.facts))] : [],
  );
  const seen = new Set(traced.map((v) => v.rank));
  const newest = new Map(logs.filter((f) => !seen.has(f.rank)).map((f) => [f.rank, f]));
  return [...traced, ...[...newest.values()].map((f) => viewRank(f.rank, asRankFacts(f), f))].sort(
    (a, b) => a.rank - b.rank,
  );
}

function unprofiledOf(logs: readonly EventFacts[], rank: number, facts: RankFacts): Unprofiled | null {
  const step = joinUnprofiledStep(logs, rank, facts.time.idle_data);
  const log = logs.findLast((f) => f.step === step);
  return step === null || !log ? null : { step, time: log.time };
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

/** Of the rank's trace, or of any file that names one. */
function hostOf(members: readonly RankedMember[], view: RankView): string | null {
  const own = members.filter((m) => m.rank === view.rank);
  const traced = own.find((m) => m.member.facts === view.facts);
  const hosts = [...(traced ? [traced] : []), ...own].map(
    (m) => m.member.traceSummary?.hostName ?? m.member.hints.host,
  );
  return hosts.find((h) => h !== null) ?? null;
}

function rankOf(view: RankView, host: string | null): ReportRank {
  const { rank } = view;
  const { gpu } = view.facts;
  const us = (ns: number) => ns / 1e3;
  return {
    ...{ rank, host, coordinates: null, step_ms: inMs(view.step), time: sharesOf(view.time), clock: null },
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
    kind: member.kind === 'events' ? 'events' : 'kineto',
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
