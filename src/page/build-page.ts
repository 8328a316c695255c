import type { Diagnosis } from '../diagnosis/diagnosis.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import { betweenSteps } from '../facts/step-time.js';
import { WorkSort } from '../facts/work-sort.js';
import type { Plan } from '../replay/plan.js';
import type { Report } from '../report/report.js';
import { outsideOf } from '../rules/kit/price.js';
import { jobOverTime } from './job-over-time.js';
import type { PageData } from './page-data.js';
import { rankStepsOf } from './rank-steps.js';
import { collectivesOf, gpusOf, kernelsOf, operatorsOf } from './tables.js';
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
