import type { Health } from '../base/check.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import { largest } from '../base/statistics.js';
import { healthOf } from '../diagnosis/health/run-health.js';
import { manifestsOf, runFileProblems } from '../diagnosis/ranks/locations.js';
import {
  type InspectLine,
  inspectLineOf,
  isRunInput,
  manifestOf,
  type RankInput,
  type RunInput,
  traceSummaryOf,
} from '../ingest/input.js';
import type { RankSource } from '../ingest/ranks.js';
import type { RunInputs } from '../ingest/read-run.js';
import type { EventLogSummary } from '../logs/log-facts.js';
import type { Manifest } from '../model/manifest.js';
import type { DeviceInfo } from '../model/trace-data.js';
import { type CaptureInfo, joinManifests } from '../run/placement/join-manifests.js';
import type { GpuState } from '../telemetry/gpu-state.js';
import type { CategoryCount, StepSummary } from '../traces/trace-summary.js';
import { describedRank, inputOf } from './build-report.js';
import type { ReportInput } from './report.js';
import { toolInfo } from './tool-info.js';

export type { InspectLine } from '../ingest/input.js';

/** What `whyslow inspect --json` prints. */
export interface InspectReport {
  readonly schema: 'whyslow/inspect/1';
  readonly inputs: readonly InspectedInput[];
  /** Files in searched directories that whyslow does not recognize. */
  readonly ignored: readonly string[];
  readonly ranks: readonly number[];
  readonly world_size: number | null;
  readonly devices: readonly DeviceInfo[];
  /** Over all traces, with the names that the files use. */
  readonly categories: readonly CategoryCount[];
  readonly health: Health;
  /** Problems of the run as a whole: rank conflicts, duplicates, unreadable files. */
  readonly problems: readonly Problem[];
  readonly reading: {
    readonly seconds: number;
    /** Before and after decompression. */
    readonly stored_bytes: number;
    readonly decoded_bytes: number;
    /** Decoded megabytes per second. */
    readonly mb_per_s: number;
    readonly events: number;
  };
  readonly tool: { readonly name: 'whyslow'; readonly version: string };
}

export interface InspectedInput extends ReportInput {
  readonly rank_source: RankSource | null;
  readonly layout: string;
  readonly coordinates: readonly number[] | null;
  readonly host: string | null;
  readonly encodings: readonly string[];
  readonly decoded_bytes: number;
  readonly categories: readonly CategoryCount[];
  readonly steps: readonly StepSummary[];
  readonly gpu_work: number;
  readonly streams: number;
  readonly window_ms: number;
  readonly switches: readonly string[];
  readonly versions: Readonly<Record<string, string>>;
  readonly event_log: EventLogSummary | null;
  readonly manifest: Manifest | null;
  /** GPUs in a telemetry log. */
  readonly gpus: readonly GpuState[] | null;
}

export function buildInspectReport(run: RunInputs): InspectReport {
  const problems = new ProblemLog();
  const capture = joinManifests(manifestsOf(run), problems);
  const inputs = [
    ...run.members.map((m) => inspectedInput(m, m.rank, m.rankSource)),
    ...run.beside.map((m) => inspectedInput(m, describedRank(m), null)),
  ];
  const inTraces = run.members.map((m) => traceSummaryOf(m)?.distributed?.worldSize ?? 0);
  const worldSize = capture.worldSize ?? (Math.max(0, largest(inTraces)) || null);
  const runProblems = [...run.problems, ...runFileProblems(run), ...problems.list()];
  return {
    schema: 'whyslow/inspect/1',
    inputs,
    ignored: run.ignored,
    ranks: [...new Set(run.members.map((m) => m.rank))].sort((a, b) => a - b),
    world_size: worldSize,
    devices: devicesOf(
      run.members.flatMap((m) => traceSummaryOf(m)?.devices ?? []),
      capture,
    ),
    categories: sumCategories(inputs.flatMap((i) => i.categories)),
    health: healthOf(run.members, worldSize, runProblems),
    problems: runProblems,
    reading: {
      seconds: run.seconds,
      stored_bytes: run.storedBytes,
      decoded_bytes: run.decodedBytes,
      mb_per_s: run.decodedBytes / 1e6 / run.seconds,
      events: [...run.members, ...run.beside.filter((m) => !isWatching(m))].reduce(
        (n, m) => n + m.identity.events,
        0,
      ),
    },
    tool: toolInfo(),
  };
}

/** Samples of a machine are not events of the job. */
const isWatching = ({ evidence: { gpus, activity } }: RunInput): boolean =>
  gpus !== undefined || activity !== undefined;

/** How to name the files of each kind that is here. Traces first; kinds with a file per rank last. */
export function linesByKind({ inputs }: InspectReport): Readonly<Record<string, InspectLine>> {
  const place = ({ isTrace, isUnlisted }: InspectLine) => (isTrace ? 0 : isUnlisted ? 2 : 1);
  const kinds = [...new Set(inputs.map((i) => i.kind))].map((kind) => [kind, inspectLineOf(kind)] as const);
  return Object.fromEntries(kinds.sort(([, a], [, b]) => place(a) - place(b)));
}

function inspectedInput(
  member: RankInput | RunInput,
  rank: number | null,
  rankSource: RankSource | null,
): InspectedInput {
  const trace = traceSummaryOf(member);
  const manifest = manifestOf(member);
  return {
    ...inputOf(member, rank),
    rank_source: rankSource,
    layout: member.hints.layout,
    coordinates: member.hints.coordinates,
    host: (manifest?.of === 'rank' ? manifest.host : trace?.hostName) ?? member.hints.host,
    encodings: member.encodings,
    decoded_bytes: member.decodedBytes,
    categories: trace?.categories ?? [],
    steps: trace?.steps ?? [],
    gpu_work: trace?.gpuWork ?? 0,
    streams: trace?.streams ?? 0,
    window_ms: trace?.window.ms ?? 0,
    switches: trace?.switches ?? [],
    versions: trace?.versions ?? {},
    event_log: member.of === 'log' ? member.summary : null,
    manifest,
    gpus: (isRunInput(member) && member.evidence.gpus) || null,
  };
}

/** Every trace lists all devices of its host, so duplicates are removed. Without traces, manifests name the devices. */
function devicesOf(inTraces: readonly DeviceInfo[], capture: CaptureInfo): DeviceInfo[] {
  const unknown = { computeMajor: null, computeMinor: null, multiprocessors: null, warpSize: null };
  const inManifests = [...capture.ranks.values()].flatMap(({ device }) =>
    device?.name ? [{ id: device.index ?? 0, name: device.name, totalMemory: null, ...unknown }] : [],
  );
  const devices = inTraces.length > 0 ? inTraces : inManifests;
  return [...new Map(devices.map((d) => [`${d.id} ${d.name}`, d])).values()];
}

function sumCategories(counts: readonly CategoryCount[]): CategoryCount[] {
  const sums = new Map<string, CategoryCount>();
  for (const c of counts) {
    const key = `${c.phase} ${c.category}`;
    sums.set(key, { ...c, events: c.events + (sums.get(key)?.events ?? 0) });
  }
  return [...sums.values()].sort((a, b) => b.events - a.events);
}
