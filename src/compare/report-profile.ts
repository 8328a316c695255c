import { type Ms, ms, type Share, share } from '../base/units.js';
import { BOTTLENECKS } from '../facts/causes.js';
import { TIME_CLASSES, type TimeClass } from '../facts/time-class.js';
import type { Report, ReportLine, ReportRank, ReportStep } from '../report/report.js';
import { toolInfo } from '../report/tool-info.js';
import type { Finding, Speedup } from '../rules/kit/finding.js';
import { NO_SETUP, type RunProfile, type Setup } from './run-profile.js';

/** More than any report has. */
const MAX_ROWS = 10_000;

/** A run known from its report alone. The file may be of any version, or by anybody: every field is checked. Null: no report. */
export function profileOfReport(label: string, content: unknown, setup: Setup = NO_SETUP): RunProfile | null {
  const report = objectOf(content);
  if (report.schema !== 'whyslow/report/1') return null;
  const step = stepOf(objectOf(report.step));
  const verdict = objectOf(report.verdict);
  const read: Report = {
    schema: 'whyslow/report/1',
    verdict: {
      bottleneck: BOTTLENECKS.find((b) => b === verdict.bottleneck) ?? 'unknown',
      cause: textOf(verdict.cause),
      confidence: numberOf(verdict.confidence) ?? 0,
      label: textOf(verdict.label),
      headline: textOf(verdict.headline),
      details: Array.isArray(verdict.details) ? verdict.details.slice(0, MAX_ROWS).map(textOf) : [],
      sentence: textOf(verdict.sentence),
      second: null,
      next: [],
    },
    job: null,
    step,
    time: sharesOf(report.time),
    findings: rowsOf(report.findings).map(findingOf),
    hardware: null,
    silent: [],
    host_lines: rowsOf(report.host_lines).map(lineOf),
    ranks: rowsOf(report.ranks).map(rankOf),
    many_ranks: null,
    stragglers: [],
    incidents: [],
    money: null,
    energy: null,
    heat: null,
    critical_path: null,
    collectives: null,
    what_if: null,
    runs: [],
    inputs: [],
    ignored: [],
    health: { grade: 'good', problems: [] },
    tool: toolInfo(),
  };
  return { label, report: read, kernels: [], operators: [], phases: [], setup };
}

type Fields = Readonly<Record<string, unknown>>;

export const objectOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

const rowsOf = (value: unknown): Fields[] =>
  Array.isArray(value) ? value.slice(0, MAX_ROWS).map(objectOf) : [];

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Null unless it is a number that a time or share can be. */
export const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;

const timeOrNull = (value: unknown): Ms | null => numberOf(value) as Ms | null;

function stepOf(step: Fields): ReportStep {
  const times = Array.isArray(step.times_ms) ? step.times_ms.slice(0, MAX_ROWS) : [];
  return {
    ms: timeOrNull(step.ms),
    source: step.source === 'events' || step.source === 'gpu-timeline' ? step.source : 'host',
    profiled_ms: timeOrNull(step.profiled_ms),
    profiled_time: null,
    times_ms: times.flatMap((t) => (numberOf(t) ? [ms(t)] : [])),
    corrected: step.corrected === true,
    iteration: step.iteration ? iterationOf(objectOf(step.iteration)) : null,
    parts: rowsOf(step.parts).map((p) => ({
      name: textOf(p.name),
      ms: timeOrNull(p.ms) ?? ms(0),
      between: p.between === true,
    })),
    whole_window: step.whole_window === true,
    count: numberOf(step.count) ?? 0,
    first: numberOf(step.first),
    last: numberOf(step.last),
  };
}

const iterationOf = (read: Fields): ReportStep['iteration'] => ({
  optimizer_steps: numberOf(read.optimizer_steps) ?? 1,
  optimizers: numberOf(read.optimizers) ?? 1,
  backward_passes: numberOf(read.backward_passes) ?? 1,
  varies: read.varies === true,
  rollout: read.rollout === true,
  text: textOf(read.text),
});

function sharesOf(value: unknown): Report['time'] {
  const time = objectOf(value);
  const shares = TIME_CLASSES.map((c): [TimeClass, Share] => [c, share(numberOf(time[c]) ?? 0)]);
  return Object.fromEntries(shares) as Record<TimeClass, Share>;
}

function findingOf(finding: Fields): Finding {
  return {
    id: textOf(finding.id),
    rule: textOf(finding.rule),
    title: textOf(finding.title),
    cost: 'code',
    risk: 'none',
    speedup: speedupOf(objectOf(finding.speedup)),
    saving_ms: timeOrNull(finding.saving_ms),
    confidence: numberOf(finding.confidence) ?? 0,
    ranks: [],
    evidence: [],
    fix: { text: '', code: '' },
    further: null,
    addresses: null,
  };
}

function speedupOf(speedup: Fields): Speedup | null {
  const [low, likely, high] = [numberOf(speedup.low), numberOf(speedup.likely), numberOf(speedup.high)];
  return low && likely && high ? { low, likely, high } : null;
}

const lineOf = (line: Fields): ReportLine => ({
  file: textOf(line.file),
  line: numberOf(line.line) ?? 0,
  function: textOf(line.function),
  source: textOf(line.source),
  share: share(numberOf(line.share) ?? 0),
  samples: numberOf(line.samples) ?? 0,
  calls: [],
});

const rankOf = (rank: Fields): ReportRank => ({
  rank: numberOf(rank.rank) ?? 0,
  host: null,
  coordinates: null,
  step_ms: timeOrNull(rank.step_ms),
  time: sharesOf(rank.time),
  clock: null,
  gpu: null,
});
