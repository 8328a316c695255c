import type { Diagnosis } from '../answers/diagnosis.js';
import { mean } from '../base/statistics.js';
import { type Ms, ms, ns, toMs } from '../base/units.js';
import type { RankView, TraceView } from '../diagnosis/ranks/rank-view.js';
import { manifestOf } from '../ingest/input.js';
import type { Report } from '../report/report.js';
import { shortenPauses } from './step-times/run-draws.js';

/** One run, as far as runs are compared. */
export interface RunProfile {
  /** As the user named it. */
  readonly label: string;
  readonly report: Report;
  /** Kernels by name and grid, and host calls by name, per step. Empty: no trace, or a report. */
  readonly kernels: readonly WorkTotal[];
  readonly operators: readonly WorkTotal[];
  readonly phases: readonly { readonly name: string; readonly ms: Ms }[];
  readonly setup: Setup;
}

export interface WorkTotal {
  readonly name: string;
  readonly shape: string | null;
  readonly count: number;
  readonly ms: Ms;
}

/** What a run ran on. Null: not recorded. */
export interface Setup {
  readonly device: string | null;
  readonly torch: string | null;
  readonly worldSize: number | null;
  readonly batchSize: number | null;
  readonly command: string | null;
}

export const NO_SETUP: Setup = {
  device: null,
  torch: null,
  worldSize: null,
  batchSize: null,
  command: null,
};

/** `report` must be of the same diagnosis. */
export function profileOf(label: string, diagnosis: Diagnosis, report: Report): RunProfile {
  const { views, decisive } = diagnosis;
  const traced = [decisive, ...views].find((view) => view?.source === 'trace') as TraceView | undefined;
  return {
    label,
    report,
    kernels: traced ? kernelsOf(traced) : [],
    operators: traced ? operatorsOf(traced) : [],
    phases: phasesOf(decisive),
    setup: setupOf(diagnosis, traced ?? null),
  };
}

function kernelsOf({ facts }: TraceView): WorkTotal[] {
  const steps = facts.detail?.steps ?? facts.steps.count;
  return facts.kernels.flatMap(({ name, grids }) =>
    grids.map(({ grid, count, total }) => ({
      name,
      shape: grid === '' ? null : grid,
      count: count / steps,
      ms: toMs(ns(total / steps)),
    })),
  );
}

/** Steps are compared as a whole. Their marks have a number, so they would never match. */
const STEP_MARK = /^ProfilerStep/;

function operatorsOf({ facts: { detail } }: TraceView): WorkTotal[] {
  const called = (detail?.operators ?? []).filter(({ name }) => !STEP_MARK.test(name));
  return called.map(({ name, count, self }) => ({
    name,
    shape: null,
    count: count / detail!.steps,
    ms: toMs(ns(self / detail!.steps)),
  }));
}

function phasesOf(view: RankView | null): RunProfile['phases'] {
  const log = view?.source === 'trace' ? view.log : view;
  return (log?.facts.named ?? []).map(({ name, ns }) => ({ name, ms: toMs(ns) }));
}

function setupOf({ inputs, views, locations }: Diagnosis, traced: TraceView | null): Setup {
  const manifests = inputs.beside.map(manifestOf);
  const run = manifests.find((m) => m?.of === 'run') ?? null;
  const ranks = manifests.filter((m) => m?.of === 'rank');
  const batches = [...locations.manifests.values()].map((m) => m.loader?.batchSize ?? null);
  const batch = batches.filter((b) => b !== null);
  return {
    device: traced?.facts.device?.name ?? ranks.find((m) => m.device?.name)?.device?.name ?? null,
    torch: run?.versions.torch ?? null,
    worldSize: run?.worldSize ?? (views.length > 1 ? views.length : null),
    batchSize: batch.length > 0 ? mean(batch) : null,
    command: run && run.command.length > 0 ? run.command.join(' ') : null,
  };
}

/** Mean step without rare pauses, as runs are compared. */
export const usualStep = (run: RunProfile): Ms => ms(mean(shortenPauses(stepsOfRun(run)).steps));

/** ms. No step is shorter than a nanosecond or longer than 30 years: the file is damaged. */
const [SHORTEST, LONGEST] = [1e-6, 1e12];

/** Step times of a run that can be; a single figure where a report has no more. */
export function stepsOfRun({ report: { step } }: RunProfile): readonly Ms[] {
  const times = step.times_ms.length > 0 ? step.times_ms : step.ms === null ? [] : [ms(step.ms)];
  return times.filter((time) => time >= SHORTEST && time <= LONGEST);
}
