import type { Diagnosis } from '../answers/diagnosis.js';
import { withCause } from '../answers/kit/decide.js';
import { delayWords } from '../answers/kit/late-words.js';
import { hardwareWords, isDone, kernelText } from '../answers/run/hardware.js';
import { isDisputed } from '../answers/steps/doubts.js';
import { ns, share, toMs, toSeconds, toUs } from '../base/units.js';
import { hardwareOf } from '../diagnosis/ranks/hardware.js';
import type { RankView, TraceView } from '../diagnosis/ranks/rank-view.js';
import { isMeasured } from '../facts/step-facts.js';
import { sharesOfClasses, sumOfClasses, TIME_CLASSES, totals } from '../facts/time-class.js';
import { manifestOf, type RankInput, type RunInput } from '../ingest/input.js';
import { incidentsOf } from '../ingest/main-state.js';
import type { FoundRun } from '../ingest/read-run.js';
import { atPace } from '../logs/pace.js';
import type { Finding } from '../rules/kit/finding.js';
import type { RulesResult } from '../rules/run-rules.js';
import type { Comparison } from '../run/compare.js';
import { whatIfWithoutLateRanks } from '../run/what-if.js';
import {
  clocksOf,
  collectivesOf,
  coordinatesOf,
  heatOf,
  iterationReport,
  jobOf,
  partsOf,
  stragglersOf,
  timeOf,
} from './job-report.js';
import { stepTimes } from './many-ranks.js';
import { energyOf } from './money.js';
import type {
  Report,
  ReportHardware,
  ReportInput,
  ReportPath,
  ReportRank,
  ReportRun,
  ReportStep,
  ReportWhatIf,
} from './report.js';
import { toolInfo } from './tool-info.js';

/** Maps what the diagnosis and the rules found to the names and units of the report. Decides nothing. */
export function buildReport(diagnosis: Diagnosis, rules: RulesResult): Report {
  const { inputs, comparison, decisive } = diagnosis;
  const clocks = clocksOf(comparison);
  const inMesh = coordinatesOf(comparison);
  return {
    schema: 'whyslow/report/1',
    verdict: withCause(diagnosis.verdict, rules.findings),
    job: jobOf(diagnosis.jobView?.job ?? null),
    step: stepOf(decisive),
    time: decisive ? timeOf(decisive) : sharesOfClasses(totals(() => 0)),
    findings: rules.findings,
    hardware: hardwareReport(decisive, rules.findings),
    silent: rules.silent,
    host_lines: diagnosis.facts.hostLines,
    ranks: diagnosis.views.map((view) => rankOf(view, diagnosis, clocks, inMesh)),
    many_ranks: null,
    stragglers: stragglersOf(comparison),
    incidents: incidentsOf(inputs).map((i) => ({ ...i, ranks: [...i.ranks], evidence: [...i.evidence] })),
    money: null,
    energy: energyOf(diagnosis),
    heat: heatOf(comparison),
    critical_path: criticalPathOf(comparison),
    collectives: collectivesOf(comparison),
    what_if: whatIfOf(comparison),
    runs: inputs.runs.map(runOf),
    inputs: [
      ...diagnosis.members.map((m) => inputOf(m, m.rank)),
      ...inputs.beside.map((m) => inputOf(m, describedRank(m))),
    ],
    ignored: inputs.ignored,
    health: diagnosis.health.with(rules.problems),
    tool: toolInfo(),
  };
}

const NO_STEP: ReportStep = {
  ms: null,
  source: 'host',
  profiled_ms: null,
  profiled_time: null,
  times_ms: [],
  corrected: false,
  parts: [],
  iteration: null,
  whole_window: false,
  count: 0,
  first: null,
  last: null,
};

function stepOf(view: RankView | null): ReportStep {
  if (!view) return NO_STEP;
  const { steps } = view.divided;
  return {
    ms: toMs(view.step.whole),
    source: isMeasured(view.step) ? 'events' : view.step.recordedBy,
    profiled_ms: view.source === 'trace' ? toMs(view.step.recorded) : null,
    profiled_time: view.source === 'trace' && isDisputed(view) ? sharesOfClasses(view.facts.time) : null,
    times_ms: stepTimes(view),
    corrected: !isMeasured(view.step),
    parts: partsOf(view),
    iteration: iterationReport(view.job?.iteration ?? null),
    whole_window: steps.source === 'window',
    count: steps.count,
    first: steps.first,
    last: steps.last,
  };
}

function rankOf(
  view: RankView,
  { locations }: Diagnosis,
  clocks: ReturnType<typeof clocksOf>,
  inMesh: ReturnType<typeof coordinatesOf>,
): ReportRank {
  const { rank } = view;
  const location = locations.ranks.get(rank);
  return {
    rank,
    host: location?.host ?? null,
    coordinates: location?.coordinates ?? inMesh.get(rank) ?? null,
    step_ms: toMs(view.step.whole),
    time: timeOf(view),
    clock: clocks.get(rank) ?? null,
    gpu: view.source === 'trace' ? gpuOf(view.facts) : null,
  };
}

function gpuOf({ gpu }: TraceView['facts']): ReportRank['gpu'] {
  return (
    gpu && {
      span_us: toUs(ns(gpu.span)),
      compute_us: toUs(ns(gpu.compute)),
      non_compute_us: toUs(ns(gpu.nonCompute)),
      idle_us: toUs(ns(gpu.idle)),
      comm_overlap: gpu.commOverlap === null ? null : share(gpu.commOverlap),
    }
  );
}

const runOf = ({ id, command, startedNs, ranks, isAnalyzed }: FoundRun): ReportRun => ({
  id,
  command,
  started: startedNs === null ? null : isoTime(startedNs),
  ranks,
  analyzed: isAnalyzed,
});

/** Null for times that no calendar has. */
function isoTime(nsSince1970: number): string | null {
  const date = new Date(nsSince1970 / 1e6);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** The rank that a rank's manifest describes. Null: the file describes the run or a machine. */
export function describedRank(member: RunInput): number | null {
  const manifest = manifestOf(member);
  return manifest?.of === 'rank' ? manifest.rank : null;
}

export function inputOf(member: RankInput | RunInput, rank: number | null): ReportInput {
  return {
    path: member.path,
    kind: member.kind,
    rank,
    bytes: member.storedBytes,
    events: member.identity.events,
    problems: member.problems,
  };
}

/** The critical path and the what-if cases of the report. */

export function criticalPathOf(comparison: Comparison | null): ReportPath | null {
  if (!comparison?.path || !comparison.table) return null;
  const { path, table, pace } = comparison;
  const paced = Math.min(1, pace / table.recorded);
  const all = sumOfClasses(path.time);
  if (!(all > 0)) return null;
  return {
    by_class: sharesOfClasses(path.time),
    by_rank: path.ranks.map(({ rank, ns: onPath, time: recorded }) => {
      const time = atPace(recorded, paced * sumOfClasses(recorded), true);
      const mostly = TIME_CLASSES.reduce((a, b) => (time[b] > time[a] ? b : a));
      return { rank, share: share(Math.min(1, onPath / all)), mostly, mostly_ms: toMs(ns(time[mostly])) };
    }),
    hops: Math.round(100 * path.hops) / 100,
  };
}

/** The run without late ranks. */
export function whatIfOf(comparison: Comparison | null): ReportWhatIf | null {
  const answer = comparison && whatIfWithoutLateRanks(comparison);
  if (!answer) return null;
  return {
    actual_s: toSeconds(answer.actual),
    ideal_s: toSeconds(answer.ideal),
    slowdown: answer.actual / answer.ideal,
    m_w: answer.shareOfNamed,
    m_s: null,
    cases: answer.cases.map(({ late, saving }) => ({
      text: late ? `without ${delayWords(late)}` : 'with all transfers hidden behind computing',
      ranks: late ? [...late.ranks] : [],
      saving_ms: toMs(saving),
    })),
  };
}

const inTera = (perSecond: number) => perSecond / 1e12;
const inGiga = (perSecond: number) => perSecond / 1e9;

/** Enough to find it in the trace: names of templates run to thousands of letters. */
const MOST_LETTERS = 300;
const bounded = (name: string) => (name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS)}…` : name);

/** How far the decisive rank is from its hardware. Null: no GPU work was recorded. */
function hardwareReport(view: RankView | null, findings: readonly Finding[]): ReportHardware | null {
  const found = view?.source === 'trace' ? hardwareOf(view) : null;
  if (!found || !view) return null;
  const gains = findings.flatMap(({ speedup }) => speedup?.likely ?? []);
  return {
    device: found.device,
    peaks: found.rates && `${found.rates.name}: ${found.rates.source}`,
    text: hardwareWords(found, view.step.unprofiled, gains),
    mfu: found.mfu,
    at_most: found.atMost,
    reachable: found.reachable,
    done: isDone(found, gains),
    gaps_ms: toMs(found.gaps),
    unknown: found.unknown,
    kinds: found.kinds.map((kind) => ({
      kind: kind.kind,
      precision: kind.precision,
      ms: toMs(kind.time),
      tflops: inTera(kind.flopsPerSecond),
      gbps: inGiga(kind.bytesPerSecond),
      of_peak: kind.ofPeak,
    })),
    kernels: found.kernels.map((use) => ({
      text: kernelText(use, view.divided.steps.source === 'window' ? 'in the recording' : 'per step'),
      operator: use.operator,
      kernel: bounded(use.kernel),
      shapes: use.shapes,
      ms: toMs(use.time),
      calls: use.calls,
      tflops: use.flopsPerSecond === null ? null : inTera(use.flopsPerSecond),
      gbps: use.bytesPerSecond === null ? null : inGiga(use.bytesPerSecond),
      bound: use.bound,
      of_limit: use.ofLimit,
    })),
  };
}
