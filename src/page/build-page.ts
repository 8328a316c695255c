import type { Diagnosis } from '../answers/diagnosis.js';
import { callName } from '../answers/kit/hang-words.js';
import { fullest, gpuName, memoryInWords } from '../answers/kit/memory-words.js';
import { groupBy } from '../base/group-by.js';
import { largest, median } from '../base/statistics.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import { MEMORY_KINDS, type RunEvidence } from '../diagnosis/run-evidence.js';
import { COLLECTIVE_KINDS, type RankCollectives } from '../facts/rank-collectives.js';
import { betweenSteps } from '../facts/step-facts.js';
import { WorkSort } from '../facts/time-class.js';
import { logOf } from '../ingest/input.js';
import type { EventLogRun } from '../model/event-log.js';
import type { Plan } from '../replay/plan.js';
import type { Report } from '../report/report.js';
import { outsideOf } from '../rules/kit/price.js';
import type {
  CollectiveRow,
  GpuRow,
  JobOverTime,
  KernelRow,
  MemoryOnPage,
  OperatorRow,
  PageData,
  WaitsOnPage,
} from './page-data.js';
import { rankStepsOf } from './rank-steps.js';
import type { Lever, WhatIfPlan } from './what-if.js';

/** Gathers what the page shows. Decides nothing: the report is as `--json` prints it. */
export function buildPage(diagnosis: Diagnosis, report: Report, title: string | null): PageData {
  const { decisive } = diagnosis;
  return {
    title,
    report: { ...report, heat: null },
    profiled: decisive?.source === 'trace' ? { ...decisive.facts.time } : null,
    rankSteps: rankStepsOf(diagnosis),
    decisiveRank: decisive?.rank ?? null,
    hasGpu: decisive?.facts.hasGpuWork ?? true,
    kernels: kernelsOf(decisive),
    operators: operatorsOf(decisive),
    collectives: collectivesOf(diagnosis),
    whatIf: whatIfOf(decisive),
    jobOverTime: jobOverTime(diagnosis),
    gpus: gpusOf(diagnosis),
    memory: memoryOnPage(diagnosis.evidence),
    waits: waitsOnPage(diagnosis.evidence),
  };
}

/** Calls and pieces of work, about 15 bytes each when compressed. */
const MAX_PLAN = 60_000;

export function whatIfOf(view: RankView | null): WhatIfPlan | string {
  if (!view) return 'This needs a trace of a rank.';
  if (view.source !== 'trace') return 'This needs a trace: an event log does not show what waits for what.';
  const { baseline } = view;
  if (!baseline) return 'The trace does not show what the host launched, so the step cannot be replayed.';
  if (!baseline.faithful || !(baseline.unprofiled > 0))
    return 'Replayed without a change, the step does not come out as recorded. So no change is predicted either.';
  if (baseline.plan.nodes.length + baseline.plan.works.length > MAX_PLAN)
    return 'The steps have too many calls to be replayed in a page.';
  return {
    rank: view.rank,
    plan: baseline.plan,
    recording: baseline.recording.likely,
    step: view.step.unprofiled,
    unchanged: baseline.unprofiled,
    between: betweenSteps(view.step),
    outside: outsideOf(view, baseline),
    levers: leversOf(baseline.plan),
  };
}

/** Levers with something to move. */
function leversOf({ nodes, works }: Plan): Lever[] {
  const has = (...sorts: readonly number[]) => works.sort.some((s) => sorts.includes(s));
  const takes = (column: Float64Array) => column.some((t) => t > 0);
  const levers: Record<Lever, boolean> = {
    data: takes(nodes.data),
    host: true,
    sync: nodes.waitsFor.some((w) => w !== -1) || nodes.awaited.some((w) => w >= 0),
    compile: takes(nodes.compile),
    comms: takes(nodes.comms) || has(WorkSort.comms),
    copy: has(WorkSort.toDevice, WorkSort.toHost, WorkSort.move),
    compute: has(WorkSort.compute),
  };
  return (Object.keys(levers) as Lever[]).filter((lever) => levers[lever]);
}

const MAX_SLICES = 60;

/** A moment of the job: seconds since the process began, and what each phase had taken until then. */
interface Mark {
  readonly at: number;
  readonly spent: ReadonlyMap<string, number>;
}

/**
 * The wall time of the process from start to end. A log says at every recorded step what the job had spent outside steps
 * until then: the rest of the time between two of them is training. Null: no log says it.
 */
function jobOverTime({ jobView, members }: Diagnosis): JobOverTime | null {
  const job = jobView?.job;
  const log = members.find((m) => m.rank === jobView?.rank && logOf(m));
  const run = log && logOf(log)?.runs.at(-1);
  if (!job || !run || !(job.wall > 0)) return null;
  const [wall, startUp, end] = [job.wall / 1e9, job.startUp / 1e9, job.end / 1e9];
  const outside = job.phases.filter((p) => !p.own);
  const total = new Map(outside.map((p) => [p.name, p.ns / 1e9]));
  const inside = marksOf(run, startUp).filter((mark) => mark.at > startUp && mark.at < wall - end);
  const marks = thinned([{ at: startUp, spent: new Map() }, ...inside, { at: wall, spent: total }], wall);
  const phases = ['start-up', 'steps', ...outside.map((p) => p.name), 'end'];
  const seconds = marks.slice(1).map((mark, i) => {
    const before = marks[i]!;
    const spent = new Map(
      outside.map(({ name }) => [
        name,
        Math.max(0, (mark.spent.get(name) ?? 0) - (before.spent.get(name) ?? 0)),
      ]),
    );
    if (mark.at === wall) spent.set('end', end);
    const rest = mark.at - before.at - [...spent.values()].reduce((sum, s) => sum + s, 0);
    spent.set('steps', Math.max(0, rest));
    return spent;
  });
  const compiled = (job.compiledFirst ?? 0) / 1e9;
  if (compiled > 0 && !phases.includes('compile')) phases.push('compile');
  const first = phases.map((name) =>
    name === 'start-up' ? startUp - compiled : name === 'compile' ? compiled : 0,
  );
  const rows = seconds.map((spent) => phases.map((name) => spent.get(name) ?? 0));
  return { phases, bounds: [0, ...marks.map((m) => m.at)], seconds: [first, ...rows] };
}

/** At each recorded step. */
function marksOf({ step, startMs, outside, names }: EventLogRun, startUp: number): Mark[] {
  const startOf = new Map<number, number>();
  for (let row = 0; row < step.length; row++) {
    const start = startMs[row]!;
    if (start < (startOf.get(step[row]!) ?? Number.POSITIVE_INFINITY)) startOf.set(step[row]!, start);
  }
  const spentAt = new Map<number, Map<string, number>>();
  for (let row = 0; row < outside.step.length; row++) {
    const spent = spentAt.get(outside.step[row]!) ?? new Map<string, number>();
    spent.set(names[outside.name[row]!]!, outside.ms[row]! / 1e3);
    spentAt.set(outside.step[row]!, spent);
  }
  return [...startOf]
    .map(([number, start]) => ({ at: startUp + start / 1e3, spent: spentAt.get(number) ?? new Map() }))
    .sort((a, b) => a.at - b.at);
}

/** Marks at least a slice apart; the first and the last stay. */
function thinned(marks: readonly Mark[], wall: number): Mark[] {
  const kept = [marks[0]!];
  for (const mark of marks.slice(1, -1)) if (mark.at - kept.at(-1)!.at >= wall / MAX_SLICES) kept.push(mark);
  return [...kept, marks.at(-1)!];
}

/** The others are rare and short. */
const MAX_ROWS = 250;
/** Names of C++ templates reach 100 KB; what they are stands at the front. */
const MAX_NAME = 400;

const shortened = (name: string) => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);

/** Kernels and copies of the steps that were analyzed in full, most time first. */
export function kernelsOf(view: RankView | null): KernelRow[] {
  if (view?.source !== 'trace') return [];
  const steps = view.facts.detail?.steps || 1;
  return view.facts.kernels.slice(0, MAX_ROWS).map((k) => ({
    name: shortened(k.name),
    group: k.class,
    precision: k.precision,
    count: k.count / steps,
    ms: k.total / steps / 1e6,
    longestTs: k.longestTs,
    longestNs: k.longest,
  }));
}

export function operatorsOf(view: RankView | null): OperatorRow[] {
  const detail = view?.source === 'trace' ? view.facts.detail : null;
  if (!detail) return [];
  const perStep = (total: number) => total / (detail.steps || 1);
  return detail.operators
    .filter((o) => !o.name.startsWith('ProfilerStep#'))
    .toSorted((a, b) => b.self - a.self)
    .slice(0, MAX_ROWS)
    .map((o) => ({
      name: shortened(o.name),
      count: perStep(o.count),
      selfMs: perStep(o.self) / 1e6,
      ms: perStep(o.total) / 1e6,
    }));
}

/** By group, kind and size. Without a second rank, waiting cannot be separated from transfer. */
export function collectivesOf({ comparison, decisive }: Diagnosis): CollectiveRow[] {
  const compared = comparison?.traced ?? comparison;
  if (!compared) return decisive?.facts.collectives ? ofOneRank(decisive.facts.collectives) : [];
  return compared.bandwidth.slice(0, MAX_ROWS).map((b) => ({
    group: shortened(compared.matched.groups[b.group]!.name),
    kind: b.kind,
    fromBytes: b.fromBytes,
    instances: b.instances,
    ms: b.transferMedian / 1e6,
    withoutWaiting: true,
    gbPerSecond: b.gbPerSecond,
  }));
}

/** Sizes within a factor of four are counted together, as for several ranks. */
const sizeOf = (bytes: number) => (bytes > 0 ? 4 ** Math.floor(Math.log(bytes) / Math.log(4) + 1e-9) : null);

function ofOneRank({ length, group, kind, bytes, start, end, groups }: RankCollectives): CollectiveRow[] {
  const all = Array.from({ length }, (_, i) => i);
  const alike = groupBy(all, (i) => `${group[i]} ${kind[i]} ${sizeOf(bytes[i]!)}`);
  const timeOf = (list: readonly number[]) => list.map((i) => end[i]! - start[i]!);
  return [...alike.values()]
    .map((list) => ({
      group: shortened(groups[group[list[0]!]!]!.name),
      kind: COLLECTIVE_KINDS[kind[list[0]!]!]!,
      fromBytes: sizeOf(bytes[list[0]!]!),
      instances: list.length,
      ms: median(timeOf(list)) / 1e6,
      withoutWaiting: false,
      gbPerSecond: null,
    }))
    .sort((a, b) => b.ms * b.instances - a.ms * a.instances)
    .slice(0, MAX_ROWS);
}

/** GPUs that are drawn over time. */
const MAX_SERIES = 64;

export function gpusOf({ locations, inputs }: Diagnosis): GpuRow[] {
  const seriesOf = new Map(
    inputs.beside.flatMap(({ evidence: { gpus = [], series } }) =>
      series ? gpus.map((gpu, i) => [gpu, series[i]!] as const) : [],
    ),
  );
  return [...locations.gpus]
    .sort(([a], [b]) => a - b)
    .slice(0, MAX_ROWS)
    .map(([rank, gpu], i) => ({
      rank,
      name: gpu.name ?? null,
      samples: gpu.samples,
      utilization: gpu.utilization,
      clock: gpu.clock,
      maxClock: gpu.maxClock,
      power: gpu.power,
      powerLimit: gpu.powerLimit,
      temperature: gpu.temperature,
      series: i < MAX_SERIES ? (seriesOf.get(gpu) ?? null) : null,
      limited:
        gpu.thermal === null && gpu.powerCap === null ? null : largest([gpu.thermal ?? 0, gpu.powerCap ?? 0]),
    }));
}

const MAX_LINES = 5;
const MAX_WAITS = 24;

/** What holds the fullest GPU at its peak, and over time. Null: no memory snapshot. */
export function memoryOnPage({ memory }: Pick<RunEvidence, 'memory'>): MemoryOnPage | null {
  const worst = fullest(memory);
  if (!worst) return null;
  const { at, overTime } = worst.facts;
  const sums = overTime.seconds.map((_, i) => overTime.kinds.reduce((sum, kind) => sum + kind[i]!, 0));
  return {
    title: memoryInWords(worst, memory),
    who: gpuName(worst, memory),
    parts: at.parts.map(({ kind, bytes, lines }) => ({ kind, bytes, lines: lines.slice(0, MAX_LINES) })),
    kinds: MEMORY_KINDS,
    most: largest([at.allocated, ...sums]),
    slices: sums.map((_, i) => overTime.kinds.map((kind) => kind[i]!)),
    seconds: overTime.seconds.at(-1) ?? 0,
  };
}

/** Who waits for whom. Null: no dump shows it. */
export function waitsOnPage({ hang }: Pick<RunEvidence, 'hang'>): WaitsOnPage | null {
  if (!hang || hang.waits.length === 0) return null;
  return {
    culprits: hang.culprits.map((c) => c.rank),
    waits: hang.waits.slice(0, MAX_WAITS).map(({ ranks, on, call }) => ({ ranks, on, call: callName(call) })),
  };
}
